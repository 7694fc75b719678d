// SPDX-License-Identifier: Apache-2.0
// Turns a zero that only padding adds to a sum into a guard, so that its work is skipped:
//   acc = acc + select(c, x, 0) * w   =>   if (c) acc = acc + x * w
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt guard_reductions(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
