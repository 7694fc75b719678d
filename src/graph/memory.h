// SPDX-License-Identifier: Apache-2.0
// Placing tensors that live for a while into one block of memory.
//
//   a lives over steps 0..1, b over 1..2, c over 2..3, each 1 KiB:  a at 0, b at 1024, c at 0 again
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::graph {

struct Lifetime {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // steps, both included
};

struct Placement {
  std::vector<int64_t> offsets;  // in the order of the lifetimes
  int64_t bytes = 0;             // of the whole block
};

// Largest first, each at the lowest place that is free for its whole life. Offsets are multiples of `alignment`.
Placement place(const std::vector<Lifetime>& tensors, int64_t alignment = 64);

}  // namespace tenon::graph
