// SPDX-License-Identifier: Apache-2.0
#include "timing/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "support/median.h"

namespace tenon::timing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

double Latency::percentile_s(double percent) const {
  const auto n = static_cast<double>(sorted_s.size());
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(percent / 100 * n - 1e-9)));
  return sorted_s[std::min(rank, sorted_s.size()) - 1];
}

double Latency::median_ci95_s() const {
  const Median m = median_of(sorted_s);
  return (m.high - m.low) / 2;
}

Latency measure_latency(const std::function<void()>& run, const LatencyProtocol& protocol) {
  constexpr size_t kMost = 10'000'000;
  auto start = Clock::now();
  do {
    run();
  } while (seconds_since(start) < protocol.warmup_s);
  Latency latency;
  start = Clock::now();
  do {
    if (protocol.before_each) {
      protocol.before_each();
    }
    const auto begin = Clock::now();
    run();
    latency.sorted_s.push_back(seconds_since(begin));
  } while ((seconds_since(start) < protocol.duration_s ||
            static_cast<int64_t>(latency.sorted_s.size()) < protocol.iterations) &&
           latency.sorted_s.size() < kMost);
  latency.total_s = std::accumulate(latency.sorted_s.begin(), latency.sorted_s.end(), 0.0);
  std::sort(latency.sorted_s.begin(), latency.sorted_s.end());
  return latency;
}

}  // namespace tenon::timing
