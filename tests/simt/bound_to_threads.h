// SPDX-License-Identifier: Apache-2.0
// Programs for CPUs as programs for GPUs.
#pragma once

#include "ir/ir.h"
#include "support/rng.h"

namespace tenon::simt {

// The same program for a GPU: the outermost loop of each statement, and one inside of it where that is possible, is bound
// to blocks or threads, or several statements are put into one kernel with barriers between them. Outermost loops must
// have constant extents and independent iterations.
ir::Function bound_to_threads(const ir::Function& f, Rng& rng);

}  // namespace tenon::simt
