// SPDX-License-Identifier: Apache-2.0
#include "tune/population.h"

#include <gtest/gtest.h>

namespace tenon::tune {
namespace {

TEST(Population, BeginsByThreads) {
  EXPECT_EQ(Population(2048, 1, Cores::kOwn).of_batch(32, 32), 256U);
  EXPECT_EQ(Population(2048, 2, Cores::kOwn).of_batch(32, 32), 512U);
  EXPECT_EQ(Population(2048, 16, Cores::kOwn).of_batch(32, 32), 512U);
  EXPECT_EQ(Population(100, 16, Cores::kOwn).of_batch(32, 32), 100U) << "not more than may be";
}

TEST(Population, PartsOfARoundLookAtParts) {
  const Population p(2048, 2, Cores::kOwn);
  EXPECT_EQ(p.of_batch(16, 32), 256U);
  EXPECT_EQ(p.of_batch(1, 32), 128U) << "but not at too few";
  EXPECT_EQ(Population(48, 1, Cores::kOwn).of_batch(16, 32), 48U);
}

TEST(Population, ThinkingTakesAShareOfMeasuring) {
  Population p(2048, 2, Cores::kOwn);
  p.adapt(0.1, 10);
  EXPECT_EQ(p.of_batch(32, 32), 1024U) << "it at most doubles";
  p.adapt(0.1, 10);
  p.adapt(0.1, 10);
  EXPECT_EQ(p.of_batch(32, 32), 2048U);
  p.adapt(2, 2);
  EXPECT_EQ(p.of_batch(32, 32), 1024U) << "half of measuring is its share";
  p.adapt(100, 0);
  EXPECT_EQ(p.of_batch(32, 32), 128U);
}

TEST(Population, ThinkingOnTheCoresOfBuildersTakesLess) {
  Population p(2048, 16, Cores::kBuilders);
  p.adapt(1, 8);
  EXPECT_EQ(p.of_batch(32, 32), 512U) << "an eighth of measuring is its share";
  p.adapt(1, 4);
  EXPECT_EQ(p.of_batch(32, 32), 256U);
  p.adapt(1, 16);
  EXPECT_EQ(p.of_batch(32, 32), 512U);
}

}  // namespace
}  // namespace tenon::tune
