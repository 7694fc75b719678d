// SPDX-License-Identifier: Apache-2.0
#include "ir/arrays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tenon::ir {
namespace {

Array floats(const std::vector<double>& values) {
  Array array(kF32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    array.set_double(static_cast<int64_t>(i), values[i]);
  }
  return array;
}

TEST(Difference, FindsTheTolerancesThatJustPass) {
  const Array reference = floats({1, -2, 0, 100});
  const Array got = floats({1.5, -2, 0.25, 101});
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
  const Array reference = floats({1000, 0});
  EXPECT_TRUE(differ(floats({1000, 0.09}), reference, tolerance_of(kF32, {}, {})).passes());
  EXPECT_FALSE(differ(floats({1000, 0.11}), reference, tolerance_of(kF32, {}, {})).passes());
  const Tolerance exact = tolerance_of(kI8, {}, {});
  EXPECT_EQ(exact.rtol, 0);
  EXPECT_EQ(exact.atol, 0);
  EXPECT_EQ(tolerance_of(kI8, {}, 1).atol, 1);
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
  const Array bad[] = {floats({nan}), floats({inf}), floats({-inf})};
  for (const Array& got : bad) {
    const Difference d = differ(got, floats({1}), {1, 1000});
    EXPECT_EQ(d.failing, 1);
    EXPECT_TRUE(std::isinf(d.max_abs));
    EXPECT_TRUE(std::isinf(d.passing_atol));
  }
  EXPECT_EQ(differ(floats({inf}), floats({-inf}), {0, 0}).failing, 1);
  EXPECT_EQ(differ(floats({}), floats({}), {0, 0}).failing, 0);
}

TEST(Statistics, LeavesOutWhatIsNotFinite) {
  const Statistics s = statistics(floats({1, 3, std::nan(""), INFINITY}));
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.not_finite, 2);
  EXPECT_EQ(statistics(floats({})).mean, 0);
}

TEST(RelativeError, IsOfTheLargestValueOfAllOutputs) {
  const std::vector<Array> reference = {floats({1, -2}), floats({4})};
  EXPECT_EQ(relative_error(reference, reference), 0);
  EXPECT_DOUBLE_EQ(relative_error({floats({1.5, -2}), floats({4})}, reference), 0.125);
  EXPECT_TRUE(std::isinf(relative_error({floats({std::nan(""), -2}), floats({4})}, reference)));
  EXPECT_EQ(relative_error({floats({3})}, {floats({0})}), 3) << "of nothing: absolute";
}

}  // namespace
}  // namespace tenon::ir
