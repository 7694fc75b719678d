// SPDX-License-Identifier: Apache-2.0
#include "tune/population.h"

#include <gtest/gtest.h>

namespace tenon::tune {
namespace {

TEST(Population, BeginsByThreads) {
  EXPECT_EQ(Population(2048, 1).of_batch(32, 32), 256U);
  EXPECT_EQ(Population(2048, 2).of_batch(32, 32), 512U);
  EXPECT_EQ(Population(2048, 16).of_batch(32, 32), 512U);
  EXPECT_EQ(Population(100, 16).of_batch(32, 32), 100U) << "not more than may be";
}

TEST(Population, PartsOfARoundLookAtParts) {
  const Population p(2048, 2);
  EXPECT_EQ(p.of_batch(16, 32), 256U);
  EXPECT_EQ(p.of_batch(1, 32), 128U) << "but not at too few";
  EXPECT_EQ(Population(48, 1).of_batch(16, 32), 48U);
}

TEST(Population, ThinkingTakesAShareOfMeasuring) {
  Population p(2048, 2);
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

}  // namespace
}  // namespace tenon::tune
