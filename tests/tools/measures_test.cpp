// SPDX-License-Identifier: Apache-2.0
// Statistics, tolerances and ceilings that commands print.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/check.h"
#include "tools/tenon/difference.h"
#include "tools/tenon/latency.h"
#include "tools/tenon/step_times.h"
#include "tools/tenon/tensors.h"

namespace tenon::tools {
namespace {

ir::Array floats(const std::vector<double>& values) {
  ir::Array array(ir::kF32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    array.set_double(static_cast<int64_t>(i), values[i]);
  }
  return array;
}

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

TEST(Latency, ParsesLists) {
  EXPECT_EQ(parse_percentiles("50,90,99.9"), (std::vector<double>{50, 90, 99.9}));
  EXPECT_EQ(parse_thread_list("1,2,16"), (std::vector<int>{1, 2, 16}));
  for (const char* bad : {"", "x", "50,", "0", "-1", "101", "1e", "nan"}) {
    if (std::string(bad) == "50,") {
      continue;  // a trailing comma does no harm
    }
    EXPECT_THROW(parse_percentiles(bad), UserError) << bad;
  }
  for (const char* bad : {"", "0", "1.5", "2000", "a"}) {
    EXPECT_THROW(parse_thread_list(bad), UserError) << bad;
  }
}

TEST(Difference, FindsTheTolerancesThatJustPass) {
  const ir::Array reference = floats({1, -2, 0, 100});
  const ir::Array got = floats({1.5, -2, 0.25, 101});
  const Tolerance strict{0, 0};
  const Difference d = differ(got, reference, strict);
  EXPECT_EQ(d.failing, 3);
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_EQ(d.worst, 3);
  EXPECT_EQ(d.passing_atol, 1);
  EXPECT_TRUE(std::isinf(d.passing_rtol)) << "no rtol allows for a difference from 0";
  EXPECT_TRUE(differ(got, reference, {0, d.passing_atol}).passes());
  const Difference other = differ(floats({1.5, -2, 101}), floats({1, -2, 100}), strict);
  EXPECT_DOUBLE_EQ(other.passing_rtol, 0.5);
  EXPECT_TRUE(differ(floats({1.5, -2, 101}), floats({1, -2, 100}), {0.5, 0}).passes());
  EXPECT_FALSE(differ(floats({1.5, -2, 101}), floats({1, -2, 100}), {0.49, 0}).passes());
}

TEST(Difference, DefaultsFollowTheLargestValue) {
  const ir::Array reference = floats({1000, 0});
  EXPECT_TRUE(differ(floats({1000, 0.09}), reference, tolerance_of(ir::kF32, {}, {})).passes());
  EXPECT_FALSE(differ(floats({1000, 0.11}), reference, tolerance_of(ir::kF32, {}, {})).passes());
  const Tolerance exact = tolerance_of(ir::kI8, {}, {});
  EXPECT_EQ(exact.rtol, 0);
  EXPECT_EQ(exact.atol, 0);
  EXPECT_EQ(tolerance_of(ir::kI8, {}, 1).atol, 1);
}

TEST(Difference, NotANumber) {
  const double nan = std::nan("");
  const double inf = INFINITY;
  const Difference same = differ(floats({nan, inf, -inf, 1}), floats({nan, inf, -inf, 1}), {0, 0});
  EXPECT_TRUE(same.passes());
  EXPECT_EQ(same.nan, 1);
  EXPECT_EQ(same.finite, 1);
  EXPECT_EQ(differ(floats({nan, nan}), floats({1, nan}), {1, 1000}).failing, 1);
  EXPECT_EQ(differ(floats({1, 1}), floats({1, nan}), {1, 1000}).failing, 1);
  for (const double nothing : {nan, inf, -inf}) {
    const Difference d = differ(floats({nothing, nothing}), floats({nothing, nothing}), {0, 0});
    EXPECT_TRUE(d.matches());
    EXPECT_FALSE(d.decides()) << "nothing was compared";
    EXPECT_FALSE(d.passes());
  }
  EXPECT_TRUE(differ(floats({}), floats({}), {0, 0}).passes());
  const ir::Array bad[] = {floats({nan}), floats({inf}), floats({-inf})};
  for (const ir::Array& got : bad) {
    const Difference d = differ(got, floats({1}), {1, 1000});
    EXPECT_EQ(d.failing, 1);
    EXPECT_TRUE(std::isinf(d.max_abs));
    EXPECT_TRUE(std::isinf(d.passing_atol));
  }
  EXPECT_EQ(differ(floats({inf}), floats({-inf}), {0, 0}).failing, 1);
  EXPECT_EQ(differ(floats({}), floats({}), {0, 0}).failing, 0);
}

TEST(Ceilings, TheLevelFollowsTheSize) {
  const Ceilings c{100, {{1000, 50}, {10000, 20}, {100000, 5}}};
  EXPECT_EQ(c.least_s(1000, 0), 10);
  EXPECT_EQ(c.least_s(0, 1000), 20);
  EXPECT_EQ(c.least_s(0, 2000), 100);
  EXPECT_EQ(c.least_s(0, 1e6), 2e5);
}

TEST(Statistics, LeavesOutWhatIsNotFinite) {
  const Statistics s = statistics(floats({1, 3, std::nan(""), INFINITY}));
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.not_finite, 2);
  EXPECT_EQ(statistics(floats({})).mean, 0);
}

}  // namespace
}  // namespace tenon::tools
