// SPDX-License-Identifier: Apache-2.0
#include "support/median.h"

#include <algorithm>
#include <cmath>

#include "support/check.h"

namespace tenon {

Median median_of(std::span<const double> sorted) {
  TENON_CHECK(!sorted.empty());
  const size_t size = sorted.size();
  const auto n = static_cast<double>(size);
  // The count of numbers below the true median is binomial: 1.96 of its deviations to each side.
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto at = [&](double rank) {
    return sorted[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  return {.middle = (sorted[(size - 1) / 2] + sorted[size / 2]) / 2,
          .low = at(std::floor(n / 2 - reach) - 1),
          .high = at(std::ceil(n / 2 + reach))};
}

}  // namespace tenon
