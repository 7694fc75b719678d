// SPDX-License-Identifier: Apache-2.0
// What a cost model makes of one program: vectors of `width` numbers. Their order is the model's
// own: a set, a sequence, or a tree where `parent` says which vector stands above each.
//
//   a program of three stages, 164 columns each:   values 3 x 164, width 164, no parents
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::cost {

struct Row {
  std::vector<float> values;  // row-major
  uint32_t width = 0;
  std::vector<int32_t> parent;  // of each vector, -1 for a root; empty: no tree
  size_t rows() const { return width == 0 ? 0 : values.size() / width; }
};

}  // namespace tenon::cost
