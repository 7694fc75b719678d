// SPDX-License-Identifier: Apache-2.0
// A layout out of cuts of its dimensions: all outer parts in the order of the cuts, then all inner
// ones.
//
//   layout_from_cuts({1, 64, 56, 56}, {{1, 8, 8, 8}, ..})   =>   split 1 by 8, reorder
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/layout.h"
#include "support/result.h"

namespace tenon::search {

// How one dimension is cut: `outer` parts of `inner` elements, every `step`. inner over step:
// copies overlap.
struct Cut {
  size_t dim;
  int64_t outer, inner, step;
  bool overlaps() const { return inner > step; }
};

// Refused where the layout cannot be, or takes too many times the memory of the tensor.
Result<layout::Layout> layout_from_cuts(const std::vector<int64_t>& shape,
                                        const std::vector<Cut>& cuts);

}  // namespace tenon::search
