// SPDX-License-Identifier: Apache-2.0
// Where a layout puts elements, as one table per logical dimension: element (i_0, i_1, ..) lies at
// offset base + at[0][i_0] + at[1][i_1] + ...
//
//   C H W in blocks of 16 channels: at[0][c] = c / 16 * (H*W*16) + c % 16, at[1][h] = h * W*16, at[2][w] = w * 16
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/layout.h"

namespace tenon::layout {

struct Places {
  int64_t base = 0;
  std::vector<std::vector<int64_t>> at;  // at[d][0] is 0
  bool operator==(const Places&) const = default;
};

// Nothing if some element is stored twice, or if it cannot be shown that the dimensions add up (a fused dimension cut
// where its parts meet).
std::optional<Places> places_of(const Layout& l);

}  // namespace tenon::layout
