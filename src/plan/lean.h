// SPDX-License-Identifier: Apache-2.0
// Algorithms that store more weights than the model has: Winograd's by 16 / 9 and 4, Strassen's by 7 / 4.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "schedule/algorithms/algorithms.h"
#include "schedule/trace.h"

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

// Why --optimize memory leaves a program out, in a sentence; empty: it does not.
inline std::string why_not_lean(const schedule::Trace& trace) {
  for (const schedule::Step& step : trace) {
    const auto* v = std::get_if<schedule::Variant>(&step);
    if (v == nullptr || !inflates_weights(v->algorithm)) continue;
    return std::string(schedule::row_of(v->algorithm).name) + " needs more memory for weights";
  }
  return "";
}

}  // namespace tenon::plan
