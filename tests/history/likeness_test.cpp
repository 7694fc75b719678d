// SPDX-License-Identifier: Apache-2.0
#include "history/likeness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "history/alike_tasks.h"
#include "history/reduction.h"

namespace tenon::history {
namespace {

double between(const task::Task& a, const task::Task& b) {
  return distance(likeness_of(a), likeness_of(b));
}

struct KindRow {
  const char* kind;
  task::Task task;
};

TEST(Likeness, KindsComeFromHowOperandsAreRead) {
  const KindRow rows[] = {
      {"conv2.f32", conv({})},
      {"conv2.f32", conv({.kernel = 1, .after = After::kBiasRelu})},
      {"grouped-conv2.f32", conv({.groups = 2})},
      {"depthwise-conv2.f32", depthwise(8, 7)},
      {"depthwise-conv2.f32", conv({.in = 8, .out = 8, .groups = 8})},
      {"transposed-conv2.f32", transposed(3, 5, 4)},
      {"matmul2.f32", matmul(8, 16, 24)},
  };
  for (const KindRow& r : rows) EXPECT_EQ(likeness_of(r.task).kind, r.kind);
  const auto softmax = search::make_task([](te::Builder& b) {
    b.output(te::softmax(b, "S", b.input("X", ir::kF32, {5, 37})));
  });
  EXPECT_EQ(likeness_of(softmax).kind, "reduce1-max.f32_reduce1-sum.f32");
  const auto pool = search::make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 3, 9, 9});
    b.output(te::pool(b, "P", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
  });
  EXPECT_EQ(likeness_of(pool).kind, "pool2-max.f32");
  const auto gelu = search::make_task([](te::Builder& b) {
    b.output(te::gelu(b, "G", b.input("X", ir::kF32, {3, 50})));
  });
  EXPECT_EQ(likeness_of(gelu).kind, "map2.f32");
}

TEST(Likeness, SizesAreThoseOfRoles) {
  const Likeness l = likeness_of(conv({.in = 6,
                                       .out = 10,
                                       .size = 9,
                                       .stride = 2,
                                       .dilation = 2,
                                       .groups = 2,
                                       .after = After::kRelu}));
  const std::map<std::string, int64_t> sizes{
      {"shared", 10},   {"depth", 3},   {"groups", 2},  {"y0", 5},      {"y1", 5},
      {"kernel0", 3},   {"kernel1", 3}, {"stride0", 2}, {"stride1", 2}, {"dilation0", 2},
      {"dilation1", 2}, {"before", 2},  {"after", 2},   {"vector", 32}, {"cores", 4}};
  EXPECT_EQ(l.sizes, sizes) << to_text(l);
}

TEST(Likeness, NearIsWhatHasTheSameKernelAndOtherSizes) {
  const Conv large{.in = 64, .out = 64, .size = 56};
  const task::Task t = conv(large);
  const task::Task smaller = conv({.in = 128, .out = 128, .size = 28});
  EXPECT_LT(between(t, smaller), between(t, conv({.in = 64, .out = 64, .size = 56, .kernel = 1})));
  EXPECT_TRUE(std::isinf(between(t, depthwise(64, 56))));
  EXPECT_TRUE(std::isinf(between(t, matmul(64, 64, 64))));
  // What follows matters less than any size.
  const double epilogue =
      between(t, conv({.in = 64, .out = 64, .size = 56, .after = After::kBiasRelu}));
  EXPECT_GT(epilogue, 0);
  EXPECT_LT(epilogue, between(t, conv({.in = 64, .out = 128, .size = 56})));
  EXPECT_LT(between(t, conv({.in = 64, .out = 128, .size = 56})),
            between(t, conv({.in = 64, .out = 64, .size = 56, .stride = 2})));
  EXPECT_LT(between(t, smaller), between(t, conv({.in = 128, .out = 128, .size = 28, .block = 8})));
}

TEST(Likeness, DistanceIsZeroToItselfAndTheSameBothWays) {
  const task::Task tasks[] = {conv({}), conv({.size = 9, .stride = 2}), conv({.block = 8})};
  for (const task::Task& a : tasks) {
    EXPECT_EQ(between(a, a), 0);
    for (const task::Task& b : tasks) EXPECT_EQ(between(a, b), between(b, a));
  }
}

TEST(Likeness, TextIsReadBack) {
  for (const auto& kind : alike_tasks()) {
    for (const auto& t : kind) {
      const Likeness l = likeness_of(t.task);
      const auto again = parse_likeness(to_text(l));
      ASSERT_TRUE(again) << to_text(l);
      EXPECT_EQ(*again, l);
    }
  }
  for (const char* text : {"", "a=1", "conv2 y0", "conv2 y0=", "conv2 y0=0", "conv2 y0=-3",
                           "conv2 y0=3x", "conv2 =3", "conv2 y0=3 y0=3"}) {
    EXPECT_FALSE(parse_likeness(text)) << text;
  }
}

}  // namespace
}  // namespace tenon::history
