// SPDX-License-Identifier: Apache-2.0
// Algorithms that store more weights than the model has: Winograd's by 16 / 9 and 4, Strassen's by 7 / 4.
#pragma once

#include <vector>

#include "schedule/algorithms/algorithms.h"

namespace tenon::plan {

inline bool inflates_weights(schedule::Algorithm a) {
  return schedule::is_winograd(a) || a == schedule::Algorithm::kStrassen;
}

inline std::vector<schedule::Algorithm> inflating_algorithms() {
  std::vector<schedule::Algorithm> all;
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    if (inflates_weights(row.algorithm)) all.push_back(row.algorithm);
  }
  return all;
}

}  // namespace tenon::plan
