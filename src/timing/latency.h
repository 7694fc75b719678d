// SPDX-License-Identifier: Apache-2.0
// Times of many runs and what can be said about them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tenon::timing {

struct LatencyProtocol {
  double warmup_s = 0.2;
  double duration_s = 3;                   // at least
  int64_t iterations = 10;                 // at least
  std::function<void()> before_each = {};  // not timed
};

struct Latency {
  std::vector<double> sorted_s;
  double total_s = 0;  // of the timed runs alone

  double mean_s() const { return total_s / static_cast<double>(sorted_s.size()); }
  double min_s() const { return sorted_s.front(); }
  double max_s() const { return sorted_s.back(); }
  // Nearest rank: the smallest time that at least `percent` of the runs do not exceed.
  double percentile_s(double percent) const;
  // Half the width of the 95 % confidence interval of the median, by order statistics.
  double median_ci95_s() const;
};

Latency measure_latency(const std::function<void()>& run, const LatencyProtocol& protocol);

}  // namespace tenon::timing
