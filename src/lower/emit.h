// SPDX-License-Identifier: Apache-2.0
// From a finished State to loops: the head of the pipeline. Every stage becomes a nest; attached stages stand
// inside the loop they belong to, with a buffer of just the part that is needed; iterations that do not count
// (tails) are guarded by an If at the innermost statement, which later passes move outwards.
//
//   split C i [16] of 49; vectorize ..   =>   for i.0 in 0..4 { for i.1 in 0..16 { if (i.0*16 + i.1 < 49) C[..] = .. } }
#pragma once

#include "ir/ir.h"
#include "schedule/bounds.h"
#include "schedule/state.h"

namespace tenon::lower {

// `b` is infer_bounds(s). Parameters: inputs that have their own buffer, then outputs, in dag order.
ir::Function emit_loops(const schedule::State& s, const schedule::Bounds& b);

}  // namespace tenon::lower
