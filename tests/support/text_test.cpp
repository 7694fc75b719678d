// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(25557032), "25,557,032");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(time_text(12.34e-6), "12.3 us");
  EXPECT_EQ(time_text(4.7112e-3), "4.711 ms");
  EXPECT_EQ(time_text(12.345), "12.35 s");
  EXPECT_EQ(bytes_text(640), "640 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.5 * (1 << 30)), "3.5 GiB");
}

TEST(Text, Durations) {
  EXPECT_EQ(duration_text(0), "0:00.0");
  EXPECT_EQ(duration_text(-1), "0:00.0");
  EXPECT_EQ(duration_text(3.17), "0:03.2");
  EXPECT_EQ(duration_text(9.96), "0:10");
  EXPECT_EQ(duration_text(59.7), "1:00");
  EXPECT_EQ(duration_text(723), "12:03");
  EXPECT_EQ(duration_text(7259), "2:00:59");
}

}  // namespace
}  // namespace tenon
