// SPDX-License-Identifier: Apache-2.0
#include "ir/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tenon::ir {
namespace {

TEST(DType, TextRoundTrips) {
  const std::vector<std::pair<DType, std::string>> rows{{kBool, "bool"},
                                                        {kI8, "i8"},
                                                        {kI16, "i16"},
                                                        {kI32, "i32"},
                                                        {kI64, "i64"},
                                                        {kU8, "u8"},
                                                        {kU16, "u16"},
                                                        {kU32, "u32"},
                                                        {kU64, "u64"},
                                                        {kF16, "f16"},
                                                        {kBF16, "bf16"},
                                                        {kF32, "f32"},
                                                        {kF64, "f64"},
                                                        {kF32.with_lanes(16), "f32x16"},
                                                        {kBool.with_lanes(8), "boolx8"}};
  for (const auto& [type, text] : rows) {
    EXPECT_EQ(to_string(type), text);
    EXPECT_EQ(parse_dtype(text), type) << text;
  }
  for (const char* bad :
       {"", "f", "f31", "x16", "f32x", "f32x1", "f32x16a", "f32x99999", "F32", "i1"}) {
    EXPECT_FALSE(parse_dtype(bad).has_value()) << bad;
  }
}

TEST(DType, Sizes) {
  EXPECT_EQ(kBool.bytes(), 1);
  EXPECT_EQ(kBF16.bytes(), 2);
  EXPECT_EQ(kF64.bytes(), 8);
  EXPECT_EQ(kF32.with_lanes(16).bytes(), 4);
}

struct Half {
  const char* name;
  uint16_t (*narrow)(float);
  float (*widen)(uint16_t);
  uint16_t infinity;  // bit pattern; finite magnitudes lie below it
};

class Halves : public ::testing::TestWithParam<Half> {};

TEST_P(Halves, EveryPatternRoundTrips) {
  const Half h = GetParam();
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const float wide = h.widen(pattern);
    if ((pattern & 0x7fff) > h.infinity) {
      EXPECT_TRUE(std::isnan(wide)) << bits;
      EXPECT_TRUE(std::isnan(h.widen(h.narrow(wide)))) << bits;
    } else {
      EXPECT_EQ(h.narrow(wide), pattern) << bits;
    }
  }
}

TEST_P(Halves, RoundsToNearestEven) {
  const Half h = GetParam();
  // Between each two neighbours: the middle goes to the even one, everything else to the nearer one.
  for (uint16_t low = 0; low + 1 < h.infinity; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const float a = h.widen(low);
    const float b = h.widen(high);
    const float middle = a + (b - a) / 2;  // exact: f32 has bits to spare
    const float below = std::nextafter(middle, a);
    const float above = std::nextafter(middle, b);
    EXPECT_EQ(h.narrow(middle), (low & 1) == 0 ? low : high) << low;
    EXPECT_EQ(h.narrow(below), low) << low;
    EXPECT_EQ(h.narrow(above), high) << low;
    EXPECT_EQ(h.narrow(-above), high | 0x8000) << low;
  }
}

TEST_P(Halves, OverflowsToInfinity) {
  const Half h = GetParam();
  const float largest = h.widen(static_cast<uint16_t>(h.infinity - 1));
  const float step = largest - h.widen(static_cast<uint16_t>(h.infinity - 2));
  EXPECT_EQ(h.narrow(std::nextafter(largest + step / 2, 0.0f)), h.infinity - 1);
  EXPECT_EQ(h.narrow(largest + step / 2), h.infinity);
  EXPECT_EQ(h.narrow(std::numeric_limits<float>::max()), h.infinity);
  EXPECT_EQ(h.narrow(-std::numeric_limits<float>::infinity()), h.infinity | 0x8000);
}

INSTANTIATE_TEST_SUITE_P(All, Halves,
                         ::testing::Values(Half{"f16", f32_to_f16, f16_to_f32, 0x7c00},
                                           Half{"bf16", f32_to_bf16, bf16_to_f32, 0x7f80}),
                         [](const auto& param) { return param.param.name; });

TEST(DType, KnownHalves) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16(-2.0f), 0xc000);
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1.0p-24f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1.0p-25f), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(3.14159265f), 0x4049);
}

TEST(DType, IntegersWrap) {
  const struct {
    DType t;
    int64_t v, wrapped;
  } rows[] = {{kI8, 128, -128},
              {kI8, -129, 127},
              {kU8, -1, 255},
              {kU8, 256, 0},
              {kI16, 40000, -25536},
              {kU16, -1, 65535},
              {kI32, 1LL << 31, -(1LL << 31)},
              {kU32, -1, 4294967295},
              {kI64, -5, -5},
              {kU64, -1, -1},
              {kBool, 3, 1}};
  for (const auto& r : rows) {
    EXPECT_EQ(wrap_int(r.t, r.v), r.wrapped) << to_string(r.t) << ' ' << r.v;
  }
}

TEST(DType, Limits) {
  EXPECT_EQ(lowest_int(kI8), -128);
  EXPECT_EQ(highest_int(kI8), 127);
  EXPECT_EQ(lowest_int(kI64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(highest_int(kI64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(lowest_int(kU16), 0);
  EXPECT_EQ(highest_int(kU16), 65535);
  EXPECT_EQ(highest_int(kU64), -1);  // as a bit pattern
}

TEST(DType, RoundTo) {
  EXPECT_EQ(round_to(kF64, 0.1), 0.1);
  EXPECT_EQ(round_to(kF32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(round_to(kF16, 2049), 2048);
  EXPECT_EQ(round_to(kBF16, 257), 256);
  EXPECT_TRUE(std::isinf(round_to(kF16, 1e6)));
}

}  // namespace
}  // namespace tenon::ir
