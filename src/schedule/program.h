// SPDX-License-Identifier: Apache-2.0
// What can only be judged of a finished state on its target, before any code is generated.
#pragma once

#include <vector>

#include "schedule/bounds.h"

namespace tenon::schedule {

// The marks that loops end up with, by LoopId: pragma_unroll turned into unrolled loops.
std::vector<Mark> final_marks(const State& s, const Stage& st, const StageBounds& sb);

// Register tiles fit the vector registers and are indexed by unrolled or vectorised loops only, local buffers
// fit the stack, unrolling stays within bounds, no thread reads another's registers.
Result<void> check_program(const State& s, const Bounds& b);

}  // namespace tenon::schedule
