// SPDX-License-Identifier: Apache-2.0
// What the two ways of computing a depthwise convolution share.
#pragma once

#include <optional>

#include "templates/anchor.h"
#include "templates/template.h"

namespace tenon::templates {

inline constexpr int64_t kMaxGuardedTaps = 25;  // more would take too much code

struct Depthwise {
  Chain chain;
  te::Tensor x, w;
  std::optional<Padding> padding;
  size_t rank = 0;      // spatial dimensions
  size_t w_kernel = 1;  // the first kernel dimension of w
};

//   n k spatial.. = sum over kernel.. of x[n, k, spatial*stride + kernel*dilation] *
//                                        w[k, 0, kernel..]
std::optional<Depthwise> match_depthwise(const te::ComputeDag& dag);

int64_t taps_of(const Depthwise& d);

// The sum in registers: taps, then the tile from dimension `first` on, all unrolled but for the
// lanes of dimension `lanes`.
void unroll_sum(space::Builder& b, space::StageRef acc, const te::ComputeOp& op, size_t first,
                size_t lanes);

// Of images in their plain order, two spatial dimensions; nothing if their columns are no vectors.
std::optional<Written> write_by_columns(const Depthwise& d, space::Builder& b,
                                        const Request& request);

}  // namespace tenon::templates
