// SPDX-License-Identifier: Apache-2.0
// How often a program is timed, and which time counts.
#include "measure/visits.h"

#include <gtest/gtest.h>

namespace tenon::measure {
namespace {

task::Measurement took(double seconds) {
  task::Measurement m;
  m.outcome = task::Outcome::kOk;
  m.median_s = seconds;
  m.run_s = 0.01;
  return m;
}

// Visits of these times until it is enough; as many as there were.
int visited(const std::vector<double>& times, double best_s, Noise& noise, Visits& v) {
  int n = 0;
  do {
    v.add(took(times.at(static_cast<size_t>(n++))));
  } while (!v.enough(best_s, noise));
  return n;
}

TEST(Visits, TheQuietestCounts) {
  Noise noise;
  Visits v;
  EXPECT_EQ(visited({3, 2, 1, 2}, 0, noise, v), kMostVisits);
  EXPECT_EQ(v.quietest().median_s, 1);
  EXPECT_NEAR(v.quietest().run_s, 0.04, 1e-9) << "of all visits";
}

TEST(Visits, EndWhenTwoAgree) {
  Noise noise;
  Visits two, three;
  EXPECT_EQ(visited({1, 1.02, 9}, 0, noise, two), 2);
  EXPECT_EQ(two.quietest().median_s, 1);
  EXPECT_EQ(visited({1.6, 1, 1.01, 9}, 0, noise, three), 3);
  EXPECT_EQ(three.quietest().median_s, 1);
}

TEST(Visits, WhatIsFarBehindIsVisitedOnce) {
  Noise noise;
  Visits far, near;
  EXPECT_EQ(visited({2.6, 1}, 1, noise, far), 1);
  EXPECT_EQ(visited({2.4, 1.5, 1.5}, 1, noise, near), 3);
}

TEST(Visits, AFailureIsTheLastWord) {
  Noise noise;
  Visits v;
  v.add(took(1));
  EXPECT_FALSE(v.enough(0, noise));
  task::Measurement crashed;
  crashed.outcome = task::Outcome::kRunCrash;
  v.add(crashed);
  EXPECT_TRUE(v.enough(0, noise));
  EXPECT_EQ(v.quietest().outcome, task::Outcome::kRunCrash);
}

TEST(Noise, QuietMachinesAreLookedAtNowAndThen) {
  Noise quiet, noisy;
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(i >= 32 || quiet.look_again()) << "nothing is known yet";
    quiet.add(1, 1.02);
    noisy.add(1, 1.3);
  }
  int again = 0;
  for (int i = 0; i < 80; ++i) {
    again += quiet.look_again() ? 1 : 0;
    EXPECT_TRUE(noisy.look_again());
  }
  EXPECT_EQ(again, 10);
  for (int i = 0; i < 40; ++i) quiet.add(1, 1.4);
  EXPECT_TRUE(quiet.look_again() && quiet.look_again()) << "it is quiet no more";
}

}  // namespace
}  // namespace tenon::measure
