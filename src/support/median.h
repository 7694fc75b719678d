// SPDX-License-Identifier: Apache-2.0
// The median of noisy numbers, and the interval that holds the true one with 95 %. Both come from
// order statistics, so that nothing is assumed of the noise.
//
//   1 2 3 4 5  =>  median 3, low 1, high 5      fewer than six give all of their range
#pragma once

#include <span>

namespace tenon {

struct Median {
  double middle = 0;
  double low = 0, high = 0;
};
// `sorted` is ascending and not empty.
Median median_of(std::span<const double> sorted);

}  // namespace tenon
