// SPDX-License-Identifier: Apache-2.0
#include "support/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace tenon {
namespace {

// The first outputs of splitmix64 for seed 1234567, as its authors publish them.
TEST(Rng, MatchesPublishedSequence) {
  Rng rng(1234567);
  const uint64_t expected[] = {6457827717110365317ULL, 3203168211198807973ULL,
                               9817491932198370423ULL, 4593380528125082431ULL,
                               16408922859458223821ULL};
  for (const uint64_t value : expected) {
    EXPECT_EQ(rng.next(), value);
  }
}

TEST(Rng, BetweenReachesBothEndsAndNothingElse) {
  Rng rng(7);
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) {
    const int64_t v = rng.between(-2, 2);
    ASSERT_GE(v, -2);
    ASSERT_LE(v, 2);
    ++seen[static_cast<size_t>(v + 2)];
  }
  for (const int count : seen) {
    EXPECT_GT(count, 100);
  }
  EXPECT_EQ(rng.between(9, 9), 9);
  EXPECT_THROW(rng.between(1, 0), InternalError);
}

TEST(Rng, BetweenCoversTheWholeRangeOfIntegers) {
  Rng rng(11);
  const int64_t low = std::numeric_limits<int64_t>::min();
  const int64_t high = std::numeric_limits<int64_t>::max();
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 64; ++i) {
    const int64_t v = rng.between(low, high);
    (v < 0 ? negative : positive) = true;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, UnitStaysBelowOne) {
  Rng rng(3);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = rng.unit();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Rng, ForksDiffer) {
  Rng rng(5);
  Rng a = rng.fork();
  Rng b = rng.fork();
  EXPECT_NE(a.next(), b.next());
}

TEST(Rng, PickNeedsSomethingToPickFrom) {
  Rng rng(5);
  EXPECT_EQ(rng.pick(std::vector<int>{4}), 4);
  EXPECT_THROW(rng.pick(std::vector<int>{}), InternalError);
}

}  // namespace
}  // namespace tenon
