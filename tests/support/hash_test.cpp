// SPDX-License-Identifier: Apache-2.0
// Hashes are stored in records: these values must never change.
#include "support/hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace tenon {
namespace {

TEST(Hash, GoldenValues) {
  const struct {
    uint64_t value;
    uint64_t expected;
  } rows[] = {
      {Hasher().value(), 0xcbf29ce484222325ULL},
      {Hasher().add(uint64_t{0}).value(), 0x4903bafd62df98bULL},
      {Hasher().add(int64_t{-1}).value(), 0x894b37d98c808d04ULL},
      {Hasher().add(int32_t{-1}).value(), 0x894b37d98c808d04ULL},
      {Hasher().add("").value(), 0x4903bafd62df98bULL},
      {Hasher().add("matmul").value(), 0x61855919427c40eeULL},
      {Hasher().add(1.5).value(), 0x9a7eecad652b2e89ULL},
      {Hasher().add("A").add(int64_t{64}).add(0.0).value(), 0x1f23394d28063f9fULL},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(rows[i].value, rows[i].expected) << "row " << i << std::hex << " 0x" << rows[i].value;
  }
}

TEST(Hash, SplittingAStringChangesTheValue) {
  EXPECT_NE(Hasher().add("ab").add("c").value(), Hasher().add("a").add("bc").value());
  EXPECT_NE(Hasher().add("abc").value(), Hasher().add("ab").add("c").value());
}

TEST(Hash, SignedAndUnsignedAgree) {
  EXPECT_EQ(Hasher().add(int64_t{5}).value(), Hasher().add(uint64_t{5}).value());
  EXPECT_EQ(Hasher().add(int32_t{-5}).value(), Hasher().add(int64_t{-5}).value());
}

TEST(Hash, SmallIntegerPairsDoNotCollide) {
  std::set<uint64_t> seen;
  for (int64_t i = -100; i < 100; ++i) {
    for (int64_t j = -100; j < 100; ++j) {
      seen.insert(Hasher().add(i).add(j).value());
    }
  }
  EXPECT_EQ(seen.size(), 200U * 200U);
}

TEST(Hash, ZeroAndMinusZeroDiffer) {
  EXPECT_NE(Hasher().add(0.0).value(), Hasher().add(-0.0).value());
}

}  // namespace
}  // namespace tenon
