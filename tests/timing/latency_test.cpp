// SPDX-License-Identifier: Apache-2.0
#include "timing/latency.h"

#include <gtest/gtest.h>

#include <numeric>

#include "timing/machine_ceilings.h"

namespace tenon::timing {
namespace {

TEST(Latency, PercentilesByNearestRank) {
  Latency l;
  l.sorted_s.resize(1000);
  std::iota(l.sorted_s.begin(), l.sorted_s.end(), 1.0);
  l.total_s = 500500;
  EXPECT_EQ(l.percentile_s(50), 500);
  EXPECT_EQ(l.percentile_s(99.9), 999);
  EXPECT_EQ(l.percentile_s(100), 1000);
  EXPECT_EQ(l.percentile_s(0.01), 1);
  EXPECT_EQ(l.mean_s(), 500.5);
  EXPECT_NEAR(l.median_ci95_s(), 31, 1.5);  // 1.96 sqrt(1000) / 2
  l.sorted_s = {5};
  EXPECT_EQ(l.median_ci95_s(), 0);
  EXPECT_EQ(l.percentile_s(50), 5);
}

TEST(Latency, RunsAsOftenAsAsked) {
  int runs = 0;
  int before = 0;
  const Latency l = measure_latency([&] { ++runs; }, {0, 0, 17, [&] { ++before; }});
  EXPECT_EQ(l.sorted_s.size(), 17U);
  EXPECT_EQ(runs, 18);  // one to warm up
  EXPECT_EQ(before, 17);
}

TEST(MachineCeilings, TheLevelFollowsTheSize) {
  const MachineCeilings c{100, {{1000, 50}, {10000, 20}, {100000, 5}}};
  EXPECT_EQ(c.least_s(1000, 0), 10);
  EXPECT_EQ(c.least_s(0, 1000), 20);
  EXPECT_EQ(c.least_s(0, 2000), 100);
  EXPECT_EQ(c.least_s(0, 1e6), 2e5);
}

}  // namespace
}  // namespace tenon::timing
