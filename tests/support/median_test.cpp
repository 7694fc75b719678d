// SPDX-License-Identifier: Apache-2.0
#include "support/median.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/check.h"

namespace tenon {
namespace {

TEST(Median, FewGiveTheirWholeRange) {
  const std::vector<double> one{7};
  EXPECT_EQ(median_of(one).middle, 7);
  EXPECT_EQ(median_of(one).low, 7);
  EXPECT_EQ(median_of(one).high, 7);
  const std::vector<double> five{1, 2, 3, 4, 5};
  EXPECT_EQ(median_of(five).middle, 3);
  EXPECT_EQ(median_of(five).low, 1);
  EXPECT_EQ(median_of(five).high, 5);
}

TEST(Median, ManyGiveOrderStatistics) {
  std::vector<double> v(100);
  std::iota(v.begin(), v.end(), 0);
  const Median m = median_of(v);
  EXPECT_EQ(m.middle, 49.5);
  EXPECT_EQ(m.low, 39);   // floor(50 - 9.8) - 1
  EXPECT_EQ(m.high, 60);  // ceil(50 + 9.8)
}

TEST(Median, OfNothingIsABug) { EXPECT_THROW(median_of({}), InternalError); }

}  // namespace
}  // namespace tenon
