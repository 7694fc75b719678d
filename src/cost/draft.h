// SPDX-License-Identifier: Apache-2.0
// The draft: how long a program takes, roughly, from its loops and the facts of its target alone. It costs a few
// microseconds, learns nothing, and serves to throw out what is plainly bad before a cost model is asked.
//
//   draft_seconds(state, bounds)   =>   1.3e-3
//
// For each statement it takes the slowest of what a core does side by side: arithmetic in vectors, loads, stores, the
// chain of a sum, instructions issued; registers that the innermost tile lacks are loads and stores more. Beside that
// run the bytes that arrive in each cache: an access that a loop leaves where it is comes again in each iteration when
// what one iteration touches does not fit. Iterations that only fill up a tile count like all others. Parallel loops
// divide all but the bandwidth of memory.
#pragma once

#include "schedule/bounds.h"

namespace tenon::cost {

// `b` is infer_bounds(s). Programs of GPUs have a draft of their own (gpu_draft.h).
double draft_seconds(const schedule::State& s, const schedule::Bounds& b);

}  // namespace tenon::cost
