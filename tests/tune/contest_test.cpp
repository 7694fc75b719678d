// SPDX-License-Identifier: Apache-2.0
// Kinds of decisions that gain at known rates share a pretend clock.
#include "tune/contest.h"

#include <gtest/gtest.h>

#include <map>

namespace tenon::tune {
namespace {

TEST(Budget, GoesToWhatGainsMost) {
  Budget b;
  const size_t slow = b.add("slow", 1), fast = b.add("fast", 2);
  for (int64_t n = 0; n < Budget::kFirstSteps; ++n) {
    b.report(slow, 0.1, 0.5);
    b.report(fast, 0.2, 0.5);
  }
  EXPECT_EQ(b.next(), fast);
  b.report(fast, 0, 10);
  EXPECT_EQ(b.next(), slow);
  b.report(slow, 8, 1);
  EXPECT_EQ(b.next(), slow);
  b.end(slow);
  EXPECT_EQ(b.next(), fast);
  b.end(fast);
  EXPECT_EQ(b.next(), std::nullopt);
}

TEST(Budget, TriesEachKindFirst) {
  Budget b;
  const size_t loops = b.add("loops", 100), layouts = b.add("layouts", 0);
  for (int64_t n = 0; n < Budget::kFirstSteps; ++n) b.report(loops, 1, 1);
  EXPECT_EQ(b.next(), layouts);
}

TEST(Budget, AddsUpWhatWasSpentAndGained) {
  Budget b;
  const size_t k = b.add("loops", 1);
  b.report(k, 0.5, 2);
  b.report(k, 0.25, 3);
  EXPECT_DOUBLE_EQ(b.kinds()[k].gained_s, 0.75);
  EXPECT_DOUBLE_EQ(b.kinds()[k].spent_s, 5);
  EXPECT_EQ(b.kinds()[k].steps, 2);
}

// A second passes in each step; `gain(n)` is what step n gains.
class ContestTest : public ::testing::Test {
 protected:
  using Gain = std::function<double(int)>;

  Contender kind(const std::string& name, int most, Gain gain) {
    return {.name = name,
            .hope_s = 1,
            .step =
                [this, name, most, gain](const Stop&) {
                  now_ += 1;
                  gained_[name] += gain(steps_[name]);
                  return ++steps_[name] < most;
                },
            .gained_s = [this, name] { return gained_[name]; },
            .decide = [this, name] { decided_.push_back(name); }};
  }

  double now_ = 0;
  Contest contest_{[this] { return now_; }};
  std::map<std::string, int> steps_;
  std::map<std::string, double> gained_;
  std::vector<std::string> decided_;
};

TEST_F(ContestTest, WhatGainsNothingIsGivenUp) {
  contest_.add(kind("loops", 100, [](int) { return 0.5; }));
  contest_.add(kind("layouts", 100, [](int) { return 0.0; }));
  contest_.run([&] { return now_ > 60; });
  EXPECT_LT(steps_["layouts"], 15);
  EXPECT_EQ(decided_, std::vector<std::string>{"layouts"});
}

TEST_F(ContestTest, WhatGainsGoesOn) {
  contest_.add(kind("loops", 200, [](int n) { return n < 10 ? 0.5 : 0.0; }));
  contest_.add(kind("layouts", 30, [](int) { return 0.4; }));
  contest_.run([&] { return now_ > 100; });
  EXPECT_EQ(steps_["layouts"], 30);
  EXPECT_EQ(decided_, std::vector<std::string>{"layouts"});
}

TEST_F(ContestTest, AShareThatIsUsedUpEndsAKind) {
  contest_.add(kind("loops", 50, [](int) { return 0.1; }));
  Contender layouts = kind("layouts", 100, [](int) { return 1.0; });
  layouts.used_up = [this] { return steps_["layouts"] >= 5; };
  contest_.add(std::move(layouts));
  contest_.run({});
  EXPECT_EQ(steps_["layouts"], 5);
  EXPECT_EQ(decided_, (std::vector<std::string>{"layouts", "loops"}));
}

// Its trials may have been kept for others.
TEST_F(ContestTest, LoopsGoOnWhenAnotherKindIsOver) {
  int left = 2;
  Contender loops = kind("loops", 1000, [](int) { return 0.1; });
  loops.step = [&](const Stop&) {
    now_ += 1;
    ++steps_["loops"];
    return --left > 0;
  };
  contest_.add(std::move(loops));
  Contender layouts = kind("layouts", 3, [](int) { return 1.0; });
  layouts.decide = [&] { left = 4; };
  contest_.add(std::move(layouts));
  contest_.run({});
  EXPECT_EQ(steps_["loops"], 6);
}

TEST_F(ContestTest, ADecisionMayOpenAnotherKind) {
  contest_.add(kind("loops", 50, [](int) { return 0.1; }));
  Contender pairs = kind("pairs", 3, [](int) { return 0.2; });
  pairs.decide = [this] {
    decided_.push_back("pairs");
    contest_.add(kind("layouts", 3, [](int) { return 0.2; }));
  };
  contest_.add(std::move(pairs));
  contest_.run({});
  EXPECT_EQ(decided_, (std::vector<std::string>{"pairs", "layouts", "loops"}));
}

TEST_F(ContestTest, WhatWasBegunDecidesInTheEnd) {
  contest_.add(kind("loops", 1000, [](int) { return 0.1; }));
  contest_.add(kind("layouts", 1000, [](int) { return 1.0; }));
  contest_.run([&] { return now_ > 20; });
  EXPECT_TRUE(decided_.empty());
  contest_.decide_all();
  EXPECT_EQ(decided_, std::vector<std::string>{"layouts"});
}

}  // namespace
}  // namespace tenon::tune
