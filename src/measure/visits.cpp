// SPDX-License-Identifier: Apache-2.0
#include "measure/visits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tenon::measure {
namespace {

constexpr double kAgree = 0.03;       // of two visits
constexpr double kHopeless = 2.5;     // times the best: what disturbs costs less
constexpr double kQuiet = 0.06;       // mean difference of visits to a machine that is left alone
constexpr double kNewest = 1.0 / 64;  // share of the last difference in the mean
constexpr int64_t kFirst = 32;        // differences, before anything is said about the machine
constexpr int64_t kEvery = 8;         // of the programs on a quiet machine

}  // namespace

void Noise::add(double one_s, double other_s) {
  const double difference = std::abs(std::log(one_s / other_s));
  ++seen_;
  mean_ += (difference - mean_) * std::max(kNewest, 1.0 / static_cast<double>(seen_));
}

bool Noise::look_again() {
  if (seen_ < kFirst || mean_ > kQuiet) return true;
  return ++asked_ % kEvery == 0;
}

void Visits::add(task::Measurement m) {
  before_s_ = count_ == 0 ? 0 : quietest_.median_s;
  last_s_ = m.median_s;
  run_s_ += m.run_s;
  const bool failed = m.outcome != task::Outcome::kOk;
  if (count_++ == 0 || failed || m.median_s < before_s_) quietest_ = std::move(m);
  quietest_.run_s = run_s_;
}

bool Visits::enough(double best_s, Noise& noise) {
  if (quietest_.outcome != task::Outcome::kOk || count_ >= kMostVisits) return true;
  if (count_ == 2) noise.add(last_s_, before_s_);
  if (best_s > 0 && last_s_ > kHopeless * best_s) return true;
  if (count_ == 1) return !noise.look_again();
  return std::abs(last_s_ - before_s_) <= kAgree * before_s_;
}

}  // namespace tenon::measure
