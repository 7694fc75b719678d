// SPDX-License-Identifier: Apache-2.0
// The kernels of a function: each outermost statement is one, and with it what a launch must know.
//
//   allocate w { for blockIdx.x in 0..8 { .. }  for blockIdx.x in 0..2 { .. } }   =>   two nests
#pragma once

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"

namespace tenon::backend::nvptx {

struct Nest {
  ir::Stmt body;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};  // the largest extent of each tag
  std::vector<int32_t> arguments;            // as Launch has them
  std::vector<ir::Buffer> workspace;         // buffers allocated outside of it that it touches
  std::unordered_set<const ir::BufferNode*> stored;
  bool has_barriers = false;  // threads wait for each other, or some of them do
};

// An InternalError if loops bound to threads are not as a GPU needs them.
std::vector<Nest> nests_of(const ir::Function& f);

}  // namespace tenon::backend::nvptx
