// SPDX-License-Identifier: Apache-2.0
#include "measure/run/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tenon::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmUpS = 1e-3;
constexpr double kShortestS = 20e-6;  // of a warm repetition: the clock takes some 30 ns
constexpr size_t kLeast = 3;
constexpr size_t kMost = 1000;
constexpr size_t kKnownFrom = 10;  // repetitions
constexpr double kKnown = 0.01;    // half the quartiles' distance over the root of n, of the median
constexpr double kSlower = 1.5;    // times the best
constexpr double kLongTimes = 10;  // of min_run_s: then even one repetition is enough

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

bool well_known(std::vector<double> seconds) {
  const size_t n = seconds.size();
  if (n < kKnownFrom || n % 4 != 0) return false;
  std::sort(seconds.begin(), seconds.end());
  const double spread = (seconds[n - 1 - n / 4] - seconds[n / 4]) / 2;
  return spread / std::sqrt(static_cast<double>(n)) < kKnown * seconds[n / 2];
}

bool clearly_slower(const std::vector<double>& seconds, const TimingRules& rules) {
  return rules.best_s > 0 && seconds.size() >= kLeast &&
         *std::min_element(seconds.begin(), seconds.end()) > kSlower * rules.best_s;
}

std::vector<double> repeat(const std::function<void()>& kernel, const std::function<void()>& flush,
                           const TimingRules& rules, CoreProbe& probe) {
  auto start = Clock::now();
  int64_t warm_ups = 0;
  do {
    kernel();
    ++warm_ups;
  } while (since(start) < kWarmUpS);
  const double about = since(start) / static_cast<double>(warm_ups);
  const auto calls =
      rules.cold ? 1 : std::max<int64_t>(1, static_cast<int64_t>(std::ceil(kShortestS / about)));
  std::vector<double> seconds, disturbed;
  start = Clock::now();
  for (;;) {
    if (rules.cold) flush();
    const bool before = probe.undisturbed();
    const auto begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i) kernel();
    const double took = since(begin) / static_cast<double>(calls);
    (before && probe.undisturbed() ? seconds : disturbed).push_back(took);
    const double spent = since(start);
    if (seconds.size() + disturbed.size() >= kMost || spent > kLongTimes * rules.min_run_s) break;
    if (seconds.size() + disturbed.size() < kLeast) continue;
    if (spent >= rules.min_run_s || well_known(seconds) || clearly_slower(seconds, rules)) break;
  }
  return seconds.empty() ? disturbed : seconds;
}

}  // namespace tenon::run
