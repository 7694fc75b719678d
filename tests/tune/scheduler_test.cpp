// SPDX-License-Identifier: Apache-2.0
#include "tune/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon::tune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

SchedulerOptions greedy() {
  SchedulerOptions o;
  o.epsilon = 0;
  return o;
}

// Rounds given to each task when round r of task i brings it to curve(i, r).
template <class Curve>
std::vector<int> spend(TaskScheduler& s, int tasks, int rounds, const Curve& curve) {
  Rng rng(1);
  for (int r = 0; r < rounds; ++r) {
    const int i = s.next(rng);
    if (i < 0) break;
    s.report(i, curve(i, s.rounds(i)));
  }
  std::vector<int> spent;
  for (int i = 0; i < tasks; ++i) spent.push_back(s.rounds(i));
  return spent;
}

TEST(TaskScheduler, GivesEveryTaskAFirstRound) {
  TaskScheduler s({1e6, 1e6, 1e6}, {"a", "b", "c"}, {{{1, 1, 1}}}, greedy());
  Rng rng(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(s.next(rng), i);
    s.report(i, 1e-3);
  }
}

TEST(TaskScheduler, AVerdictThatComesLaterImprovesTheLastRound) {
  TaskScheduler s({1e6}, {"a"}, {{{1}}}, greedy());
  s.report(0, 3e-3);
  s.improve(0, 2e-3);
  EXPECT_EQ(s.objective(), 2e-3);
  s.improve(0, kNever);
  EXPECT_EQ(s.objective(), 2e-3);
  EXPECT_EQ(s.rounds(0), 1);
}

TEST(TaskScheduler, SpendsMoreWhereMoreTimeGoes) {
  // The same curve, but the second task is called ten times as often.
  TaskScheduler s({1e6, 1e6}, {"a", "b"}, {{{1, 10}}}, greedy());
  const auto spent = spend(s, 2, 60, [](int, int r) { return 1e-3 / (1 + 0.1 * r); });
  EXPECT_GT(spent[1], 2 * spent[0]);
}

TEST(TaskScheduler, LeavesATaskThatStoppedImprovingForOneThatDoesNot) {
  TaskScheduler s({1e6, 1e6}, {"a", "b"}, {{{1, 1}}}, greedy());
  const auto spent =
      spend(s, 2, 80, [](int i, int r) { return i == 0 ? 1e-3 : 2e-3 * std::pow(0.98, r); });
  EXPECT_GT(spent[1], spent[0]);
}

TEST(TaskScheduler, HopesForTheSpeedOfAlikeTasks) {
  TaskScheduler s({1e9, 1e9, 1e9}, {"x", "x", "y"}, {{{1, 1, 1}}}, greedy());
  Rng rng(1);
  for (int i = 0; i < 3; ++i) s.report(s.next(rng), i == 0 ? 1e-3 : 1e-2);
  // Task 1 is ten times slower than its like: it is expected to fall to 2e-3, task 2 only to half of itself at best.
  for (int r = 0; r < 4; ++r) {
    const int i = s.next(rng);
    EXPECT_NE(i, 0);
    s.report(i, 1e-2);
  }
  EXPECT_GT(s.rounds(1), s.rounds(2));
}

TEST(TaskScheduler, AModelThatMetItsTargetCountsNoMore) {
  SchedulerOptions o = greedy();
  o.objective = Objective::kTargets;
  TaskScheduler s({1e6, 1e6}, {"a", "b"}, {{{1, 0}, 5e-3}, {{0, 1}, 1e-6}}, o);
  const auto spent = spend(s, 2, 40, [](int, int r) { return 4e-3 / (1 + 0.05 * r); });
  EXPECT_EQ(spent[0], 1) << "4 ms is below its target of 5 ms";
  EXPECT_NEAR(s.objective(), 5e-3 + 4e-3 / (1 + 0.05 * (spent[1] - 1)), 1e-12);
}

TEST(TaskScheduler, SpeedupIsAGeometricMean) {
  SchedulerOptions o = greedy();
  o.objective = Objective::kSpeedup;
  TaskScheduler s({1e6, 1e6}, {"a", "b"}, {{{1, 0}, 0, 4e-3}, {{0, 1}, 0, 1e-3}}, o);
  s.report(0, 1e-3);
  s.report(1, 1e-3);
  EXPECT_NEAR(s.objective(), -2, 1e-9);
}

TEST(TaskScheduler, EarlyStoppingAndDeathLeaveNothingToDo) {
  SchedulerOptions o = greedy();
  o.early_stop = 3;
  o.objective = Objective::kEarlyStop;
  TaskScheduler s({1e6, 1e6}, {"a", "b"}, {{{1, 1}}}, o);
  s.kill(1);
  const auto spent = spend(s, 2, 100, [](int, int) { return 1e-3; });
  EXPECT_EQ(spent[0], 4) << "one gain, then three rounds without";
  EXPECT_EQ(spent[1], 0);
  Rng rng(1);
  EXPECT_EQ(s.next(rng), -1);
}

TEST(TaskScheduler, ATaskThatNeverRanStaysImportant) {
  TaskScheduler s({1e6, 1e6}, {"a", "b"}, {{{1, 1}}}, greedy());
  const auto spent = spend(s, 2, 10, [](int i, int) { return i == 0 ? kNever : 1e-3; });
  EXPECT_EQ(spent[0], 9);
}

TEST(TaskScheduler, EpsilonReachesEveryTask) {
  SchedulerOptions o;
  o.epsilon = 0.3;
  TaskScheduler s({1e6, 1e6, 1e6}, {"a", "b", "c"}, {{{1e6, 1, 1}}}, o);
  const auto spent = spend(s, 3, 200, [](int, int r) { return 1e-3 / r; });
  EXPECT_GT(spent[1], 5);
  EXPECT_GT(spent[2], 5);
}

}  // namespace
}  // namespace tenon::tune
