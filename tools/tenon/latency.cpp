// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <sstream>

#include "support/check.h"
#include "support/median.h"

namespace tenon::tools {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<double> parse_numbers(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(word, &used);
    } catch (const std::logic_error&) {
      used = 0;
    }
    if (used == 0 || used != word.size() || !std::isfinite(value)) {
      throw UserError(fmt::format("{}: '{}' is no number", option, word));
    }
    numbers.push_back(value);
  }
  if (numbers.empty()) {
    throw UserError(fmt::format("{}: a list of numbers expected", option));
  }
  return numbers;
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

std::vector<double> parse_percentiles(const std::string& text) {
  std::vector<double> percents = parse_numbers("--percentiles", text);
  for (const double p : percents) {
    if (p <= 0 || p > 100) {
      throw UserError(fmt::format("--percentiles: {} is not between 0 and 100", p));
    }
  }
  return percents;
}

std::vector<int> parse_thread_list(const std::string& text) {
  std::vector<int> threads;
  for (const double n : parse_numbers("--threads", text)) {
    if (n < 1 || n > 1024 || n != std::floor(n)) {
      throw UserError(fmt::format("--threads: {} is not a number from 1 to 1024", n));
    }
    threads.push_back(static_cast<int>(n));
  }
  return threads;
}

}  // namespace tenon::tools
