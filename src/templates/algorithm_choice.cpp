// SPDX-License-Identifier: Apache-2.0
#include "templates/algorithm_choice.h"

#include <algorithm>

namespace tenon::templates {

double most_growth(Accuracy a) { return a == Accuracy::kStrict ? 4 : 1e9; }

double overlapped(double flops, double bytes, int cores) {
  constexpr double kFlopsPerByte = 3.5;  // of one core, while one byte arrives
  constexpr double kMoreCores = 0.36;    // what each further core adds to the bandwidth
  const double compute = flops / cores;
  const double memory = bytes * kFlopsPerByte / (1 + kMoreCores * std::min(cores - 1, 7));
  return std::max(compute, memory) + 0.3 * std::min(compute, memory);
}

std::optional<schedule::Algorithm> choose_algorithm(
    const Edges& edges, double direct, double worth_it,
    FunctionRef<std::optional<double>(schedule::Algorithm)> cost_of) {
  const auto asked = edges.given.find(std::string(kAlgorithmKnob));
  std::optional<schedule::Algorithm> best;
  double least = worth_it * direct;
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    const auto cost = cost_of(row.algorithm);
    if (!cost || row.growth > most_growth(edges.accuracy)) continue;
    if (asked != edges.given.end()) {
      if (asked->second == kFirstAlgorithm + static_cast<int64_t>(row.algorithm))
        return row.algorithm;
    } else if (*cost < least) {
      least = *cost;
      best = row.algorithm;
    }
  }
  return best;
}

}  // namespace tenon::templates
