// SPDX-License-Identifier: Apache-2.0
#include "tune/ending.h"

#include <algorithm>
#include <cmath>

namespace tenon::tune {
namespace {

constexpr double kFinalsShare = 0.05;  // of the budget
constexpr double kLeastFinalsS = 0.25, kMostFinalsS = 20;
constexpr double kCompareShare = 0.02;  // for looking at all networks once
constexpr double kLeastCompareS = 0.5, kMostCompareS = 5;
constexpr double kShortCompareShare = 0.05;  // of a budget too short for the least
// A comparison loads both networks, runs them once and times their steps besides.
constexpr double kAroundCompareS = 0.5;
constexpr double kLearningShare = 0.02;
constexpr double kMostLearningS = 10;
// The end writes and compares what was chosen, and once more what is left of it without the tasks that lose. The second time is
// left to chance where both would take more than this share of the budget.
constexpr double kTwoLooksShare = 0.15;
// A find of the last moment is judged beyond the budget, by no more than this.
constexpr double kMostOver = 1.06;

}  // namespace

double Ending::compare_s() const {
  if (budget_s() <= 0) return kMostCompareS;
  const double least = std::min(kLeastCompareS, kShortCompareShare * budget_s());
  const double share = kCompareShare / static_cast<double>(parts_.models.size());
  return std::clamp(share * budget_s(), least, kMostCompareS);
}

double Ending::comparison_s() const {
  return compared_s_ > 0 ? compared_s_ : compare_s() + kAroundCompareS;
}

double Ending::finals_s() const {
  return std::clamp(kFinalsShare * budget_s(), kLeastFinalsS, kMostFinalsS);
}

double Ending::look_s() const {
  return static_cast<double>(parts_.models.size()) * (artifacts_.write_cost() + comparison_s());
}

double Ending::networks_s() const {
  const double defaults_s =
      static_cast<double>(artifacts_.defaults_missing()) * artifacts_.write_cost();
  const double two = 2 * look_s();
  return defaults_s + (two <= kTwoLooksShare * budget_s() ? two : look_s());
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

double Ending::late_end() const {
  if (budget_s() <= 0) return 0;
  const double needed_s = finals_s() + networks_s() + learning_s();
  return std::min(budget_s(), kMostOver * budget_s() - needed_s);
}

double Ending::learning_begin() const { return budget_s() - learning_s(); }

bool Ending::has_time_for(double seconds) const {
  return budget_s() <= 0 || parts_.log.spent() + seconds <= budget_s();
}

}  // namespace tenon::tune
