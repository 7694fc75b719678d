// SPDX-License-Identifier: Apache-2.0
// What a finished state must keep to on a GPU, before any code is generated. A stage at the root is
// a kernel; its loops that are bound to blocks come first.
#pragma once

#include <array>
#include <vector>

#include "schedule/bounds.h"

namespace tenon::schedule {

struct KernelShape {
  std::array<int64_t, 3> blocks = {1, 1, 1};
  std::array<int64_t, 3> threads = {1, 1, 1};
  int64_t shared_bytes = 0;
  int64_t registers = 0;  // of a thread, for what is kept in them; code needs some more
  int64_t threads_per_block() const { return threads[0] * threads[1] * threads[2]; }
  int64_t all_blocks() const { return blocks[0] * blocks[1] * blocks[2]; }
};
// The stage is at the root.
KernelShape kernel_shape(const State& s, const Bounds& b, StageId root);

// Loops bound to blocks stand outside of all others, threads are as many as the target has, what
// several threads write is told apart by their numbers, and memory suffices.
Result<void> check_gpu_program(const State& s, const Bounds& b);

}  // namespace tenon::schedule
