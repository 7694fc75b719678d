// SPDX-License-Identifier: Apache-2.0
// The draft for GPUs. Stages that stand in one outermost nest are one launch; its time is a fixed part and the longest of
//
//   instructions   of the blocks that the fullest multiprocessor gets, slower where few warps are at hand
//   near memory    bytes of loads and stores at 128 in a cycle, more where neighbours do not read side by side
//   far memory     what each block touches, from the second-level cache, and all of it once from memory
#pragma once

#include "schedule/bounds.h"

namespace tenon::cost {

// `b` is infer_bounds(s); the target of `s` is a GPU.
double gpu_draft_seconds(const schedule::State& s, const schedule::Bounds& b);

}  // namespace tenon::cost
