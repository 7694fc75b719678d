// SPDX-License-Identifier: Apache-2.0
// same_storage against what pack writes: an array that counts its elements lands in the same bytes.
#include <gtest/gtest.h>

#include <cstring>

#include "layout/evaluate.h"
#include "layout/layout.h"
#include "support/rng.h"

namespace tenon::layout {
namespace {

bool packs_alike(const Layout& a, const Layout& b) {
  const ir::Array data = counted(a.logical_shape());
  const ir::Array x = a.pack(data), y = b.pack(data);
  return x.bytes() == y.bytes() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
}

TEST(SameStorage, FusedPositionsOfBlockedChannels) {
  const std::vector<int64_t> shape{2, 40, 5, 7};
  const Layout blocked = Layout(shape).split(1, {3, 16}).reorder({0, 1, 3, 4, 2});
  const Layout fused = Layout(shape).fuse(2, 2).split(1, {3, 16}).reorder({0, 1, 3, 2});
  EXPECT_TRUE(same_storage(blocked, fused));
  EXPECT_TRUE(same_storage(fused, blocked));
  EXPECT_FALSE(same_storage(blocked, Layout(shape)));
  EXPECT_FALSE(same_storage(blocked, Layout(shape).split(1, {5, 8}).reorder({0, 1, 3, 4, 2})));
  // The same places, but more memory.
  EXPECT_FALSE(
      same_storage(blocked, Layout(shape).pad(0, 0, 1).split(1, {3, 16}).reorder({0, 1, 3, 4, 2})));
}

TEST(SameStorage, OnePositionMakesBlocksPlain) {
  const std::vector<int64_t> shape{1, 64, 1, 1};
  EXPECT_TRUE(
      same_storage(Layout(shape), Layout(shape).split(1, {4, 16}).reorder({0, 1, 3, 4, 2})));
}

TEST(SameStorage, BordersCount) {
  const std::vector<int64_t> shape{3, 6};
  EXPECT_TRUE(
      same_storage(Layout(shape).pad(1, 1, 1).split(1, {4, 2}), Layout(shape).pad(1, 1, 1)));
  EXPECT_FALSE(same_storage(Layout(shape).pad(1, 1, 1), Layout(shape).pad(1, 2, 0)));
}

TEST(SameStorage, TilesWithCopies) {
  const std::vector<int64_t> shape{7};
  EXPECT_TRUE(
      same_storage(Layout(shape).unfold(0, 3, 2), Layout(shape).unfold(0, 3, 2).fuse(0, 2)));
  EXPECT_FALSE(same_storage(Layout(shape).unfold(0, 3, 2), Layout(shape).pad(0, 0, 2)));
}

LayoutStep random_step(Rng& rng, const std::vector<int64_t>& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t dim = rng.between(0, rank - 1);
  const int64_t n = shape[static_cast<size_t>(dim)];
  switch (rng.between(0, 6)) {
    case 0:
    case 1: {
      const int64_t inner = rng.between(1, n);
      return {LayoutOp::kSplit, dim, {arith::ceil_div(n, inner), inner}};
    }
    case 2: {
      LayoutStep s{LayoutOp::kReorder, 0, {}};
      for (int64_t d = 0; d < rank; ++d) {
        s.args.insert(s.args.begin() + rng.between(0, d), d);
      }
      return s;
    }
    case 3:
      return {LayoutOp::kFuse, dim, {2}};
    case 4:
      return {LayoutOp::kPad, dim, {rng.between(0, 1), rng.between(0, 1)}};
    case 5:
      return {LayoutOp::kSwizzle, dim, {rng.between(0, rank - 1), 2}};
    default: {
      const int64_t size = rng.between(1, n);
      return {LayoutOp::kUnfold, dim, {size, rng.between(1, size)}};
    }
  }
}

Layout random_layout(Rng& rng, const std::vector<int64_t>& shape) {
  Layout l(shape);
  for (int64_t i = rng.between(0, 4); i > 0; --i) {
    const LayoutStep step = random_step(rng, l.storage_shape());
    if (l.why_not(step).empty()) {
      l = l.then(step);
    }
  }
  return l;
}

TEST(SameStorage, Fuzz) {
  int same = 0;
  for (uint64_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    std::vector<int64_t> shape;
    for (int64_t d = rng.between(1, 3); d > 0; --d) {
      shape.push_back(rng.pick<int64_t>({1, 2, 3, 4, 6}));
    }
    const Layout a = random_layout(rng, shape), b = random_layout(rng, shape);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(a) + " and " + to_string(b));
    EXPECT_EQ(same_storage(a, b), packs_alike(a, b));
    EXPECT_EQ(same_storage(b, a), same_storage(a, b));
    same += same_storage(a, b) ? 1 : 0;
  }
  EXPECT_GT(same, 200);
}

}  // namespace
}  // namespace tenon::layout
