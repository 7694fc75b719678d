// SPDX-License-Identifier: Apache-2.0
#include "space/domain.h"

#include <gtest/gtest.h>

#include <map>

namespace tenon::space {
namespace {

std::vector<int64_t> values(const Domain& d) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < d.size(); ++i) out.push_back(d.at(i));
  return out;
}

TEST(Domain, HasItsValuesInOrder) {
  EXPECT_TRUE(Domain().empty());
  EXPECT_EQ(values(Domain::range(-1, 2)), (std::vector<int64_t>{-1, 0, 1, 2}));
  EXPECT_EQ(values(Domain::of({4, 1, 16})), (std::vector<int64_t>{1, 4, 16}));
  EXPECT_EQ(values(Domain::divisors(56, 16)), (std::vector<int64_t>{1, 2, 4, 7, 8, 14}));
  EXPECT_TRUE(Domain::divisors(56, 16).contains(7));
  EXPECT_FALSE(Domain::divisors(56, 16).contains(28));
  EXPECT_FALSE(Domain::range(1, 3).contains(0));
}

TEST(Domain, NearestIsByRatio) {
  const Domain d = Domain::of({1, 4, 16, 64});
  EXPECT_EQ(d.nearest(16), 16);
  EXPECT_EQ(d.nearest(7), 4);
  EXPECT_EQ(d.nearest(9), 16);
  EXPECT_EQ(d.nearest(1000), 64);
  EXPECT_EQ(d.nearest(-5), 1);
  EXPECT_EQ(Domain::range(3, 5).nearest(9), 5);
  EXPECT_EQ(Domain::of({0, 4}).nearest(1), 0);
}

TEST(Domain, DrawsByWeight) {
  Rng rng(3);
  const Domain d = Domain::of({1, 2, 3});
  std::map<int64_t, int> seen;
  for (int i = 0; i < 4000; ++i) ++seen[d.draw(rng, {0, 3, 1})];
  EXPECT_EQ(seen[1], 0);
  EXPECT_NEAR(seen[2], 3000, 150);
  EXPECT_NEAR(seen[3], 1000, 150);
}

TEST(Domain, NeighboursAreOneStepAway) {
  Rng rng(5);
  const Domain d = Domain::of({1, 4, 16});
  EXPECT_EQ(d.neighbour(1, rng), 4);
  EXPECT_EQ(d.neighbour(16, rng), 4);
  const int64_t n = d.neighbour(4, rng);
  EXPECT_TRUE(n == 1 || n == 16);
  EXPECT_EQ(Domain::single(7).neighbour(7, rng), 7);
}

}  // namespace
}  // namespace tenon::space
