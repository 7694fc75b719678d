// SPDX-License-Identifier: Apache-2.0
#include "tune/ending.h"

#include <algorithm>
#include <cmath>

namespace tenon::tune {
namespace {

constexpr double kFinalsShare = 0.05;  // of the budget
constexpr double kLeastFinalsS = 0.5, kMostFinalsS = 20;
constexpr double kCompareShare = 0.02;
constexpr double kLeastCompareS = 0.5, kMostCompareS = 5;
// A comparison loads both networks, runs them once and times their steps besides.
constexpr double kAroundCompareS = 0.5;
constexpr double kLearningShare = 0.02;
constexpr double kMostLearningS = 10;
// The end writes and compares what was chosen, and once more what is left of it without the tasks that lose.
constexpr int kWrites = 2, kComparisons = 2;

}  // namespace

double Ending::compare_s() const {
  if (budget_s() <= 0) return kMostCompareS;
  return std::clamp(kCompareShare * budget_s(), kLeastCompareS, kMostCompareS);
}

double Ending::comparison_s() const {
  return compared_s_ > 0 ? compared_s_ : compare_s() + kAroundCompareS;
}

double Ending::finals_s() const {
  return std::clamp(kFinalsShare * budget_s(), kLeastFinalsS, kMostFinalsS);
}

double Ending::networks_s() const {
  const auto models = static_cast<double>(parts_.models.size());
  const double writes = kWrites * models + static_cast<double>(artifacts_.defaults_missing());
  return writes * artifacts_.write_cost() + kComparisons * models * comparison_s();
}

double Ending::learning_s() const {
  return parts_.options.history ? std::min(kLearningShare * budget_s(), kMostLearningS) : 0;
}

double Ending::finals_end() const {
  if (budget_s() <= 0) return INFINITY;
  return std::max(budget_s() - networks_s() - learning_s(), budget_s() / 2);
}

double Ending::rounds_end() const {
  if (budget_s() <= 0) return INFINITY;
  return std::max(finals_end() - finals_s(), budget_s() / 2);
}

bool Ending::has_time_for(double seconds) const {
  return budget_s() <= 0 || parts_.log.spent() + seconds <= budget_s();
}

}  // namespace tenon::tune
