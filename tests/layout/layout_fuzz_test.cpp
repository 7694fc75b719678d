// SPDX-License-Identifier: Apache-2.0
// Random layouts over small odd shapes, every element checked: the data that pack moves, the index
// expressions in both directions and the padding condition tell the same story.
#include <gtest/gtest.h>

#include "layout/evaluate.h"
#include "layout/layout.h"
#include "support/rng.h"

namespace tenon::layout {
namespace {

using Shape = std::vector<int64_t>;

constexpr uint64_t kSeed = 31;
constexpr int kRuns = 400;
constexpr int64_t kMaxElements = 600;

int64_t elements_of(const Shape& s) {
  int64_t n = 1;
  for (const int64_t x : s) {
    n *= x;
  }
  return n;
}

LayoutStep random_step(Rng& rng, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t dim = rng.between(0, rank - 1);
  const int64_t n = shape[static_cast<size_t>(dim)];
  switch (rng.between(0, 7)) {
    case 0: {
      const int64_t inner = rng.between(1, n);
      return {
          LayoutOp::kSplit, dim, {arith::ceil_div(n, inner) + (rng.chance(0.1) ? 1 : 0), inner}};
    }
    case 1: {
      const int64_t a = rng.between(1, 3), b = rng.between(1, 3);
      return {LayoutOp::kSplit, dim, {arith::ceil_div(n, a * b), a, b}};
    }
    case 2: {
      LayoutStep s{LayoutOp::kReorder, 0, {}};
      for (int64_t d = 0; d < rank; ++d) {
        s.args.insert(s.args.begin() + rng.between(0, d), d);
      }
      return s;
    }
    case 3:
      return {LayoutOp::kFuse, dim, {rng.between(2, 3)}};
    case 4:
      return {LayoutOp::kPad, dim, {rng.between(0, 2), rng.between(0, 2)}};
    case 5: {
      const int64_t size = rng.between(1, n);
      return {LayoutOp::kUnfold, dim, {size, rng.between(1, size)}};
    }
    case 6:
      return {LayoutOp::kSwizzle, dim, {rng.between(0, rank - 1), int64_t{1} << rng.between(1, 2)}};
    default:
      return {LayoutOp::kStoreAt, dim, {rng.between(1, 2)}};
  }
}

Layout random_steps(Rng& rng, Layout l, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const LayoutStep step = random_step(rng, l.storage_shape());
    if (l.why_not(step).empty() && elements_of(l.then(step).storage_shape()) <= kMaxElements) {
      l = l.then(step);
    }
  }
  return l;
}

Layout random_layout(Rng& rng) {
  Shape shape;
  for (int64_t d = rng.between(1, 4); d > 0; --d) {
    shape.push_back(rng.pick<int64_t>({1, 2, 3, 4, 5, 6, 7, 7}));
  }
  while (elements_of(shape) > kMaxElements / 4) {
    shape.pop_back();
  }
  return random_steps(rng, Layout(shape), rng.between(0, 5));
}

void check_storage_side(const Layout& l, const ir::Array& packed) {
  const Loops at(l.storage_shape());
  const auto logical = l.to_logical(at.exprs, at.ranges);
  const ir::Expr holds = l.holds_element(at.exprs, at.ranges);
  bool padding = false;
  int64_t stored = 0;
  for_each_index(l.storage_shape(), [&](const Index& index) {
    const Env env = at.at(index);
    const int64_t value = packed.get(offset_of(index, l.storage_shape())).i;
    if (ir::eval(holds, env).i == 0) {
      padding = true;
      EXPECT_EQ(value, 0);
      return;
    }
    ++stored;
    const Index from = values_of(logical, env);
    ASSERT_TRUE(inside(from, l.logical_shape()));
    EXPECT_EQ(value, offset_of(from, l.logical_shape()) + 1);
  });
  EXPECT_EQ(l.is_padding_free(), !padding);
  EXPECT_EQ(l.duplicates(), stored > elements_of(l.logical_shape()));
  EXPECT_EQ(l.is_bijective(), !padding && stored == elements_of(l.logical_shape()));
}

void check_logical_side(const Layout& l, const ir::Array& packed) {
  const Loops at(l.logical_shape());
  const auto storage = l.to_storage(at.exprs, at.ranges);
  for_each_index(l.logical_shape(), [&](const Index& index) {
    const Index to = values_of(storage, at.at(index));
    ASSERT_TRUE(inside(to, l.storage_shape()));
    EXPECT_EQ(packed.get(offset_of(to, l.storage_shape())).i,
              offset_of(index, l.logical_shape()) + 1);
  });
  // There and back again.
  const auto back = l.to_logical(storage, at.ranges);
  for_each_index(l.logical_shape(),
                 [&](const Index& index) { EXPECT_EQ(values_of(back, at.at(index)), index); });
}

TEST(LayoutFuzz, EveryElement) {
  for (int run = 0; run < kRuns && !testing::Test::HasFailure(); ++run) {
    Rng rng(kSeed + static_cast<uint64_t>(run));
    const Layout l = random_layout(rng);
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)) + ": " +
                 to_string(l));
    const ir::Array data = counted(l.logical_shape());
    const ir::Array packed = l.pack(data);
    const ir::Array back = l.unpack(packed);
    for (int64_t i = 0; i < data.elements(); ++i) {
      ASSERT_EQ(back.get(i).i, data.get(i).i);
    }
    check_storage_side(l, packed);
    check_logical_side(l, packed);
    EXPECT_DOUBLE_EQ(l.growth(),
                     static_cast<double>(packed.elements()) / static_cast<double>(data.elements()));
    EXPECT_EQ(parse_layout(to_string(l), l.logical_shape()), l);
  }
}

TEST(LayoutFuzz, ComposeIsOneAfterTheOther) {
  for (int run = 0; run < kRuns && !testing::Test::HasFailure(); ++run) {
    Rng rng(kSeed + static_cast<uint64_t>(run));
    const Layout first = random_layout(rng);
    const Layout second = random_steps(rng, Layout(first.storage_shape()), 3);
    const Layout both = first.compose(second);
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)) + ": " +
                 to_string(both));
    const ir::Array data = counted(first.logical_shape());
    const ir::Array at_once = both.pack(data);
    const ir::Array in_turn = second.pack(first.pack(data));
    ASSERT_EQ(at_once.shape(), in_turn.shape());
    for (int64_t i = 0; i < at_once.elements(); ++i) {
      ASSERT_EQ(at_once.get(i).i, in_turn.get(i).i);
    }
    const Loops at(first.logical_shape());
    const auto direct = both.to_storage(at.exprs, at.ranges);
    const auto chained = second.to_storage(first.to_storage(at.exprs, at.ranges), at.ranges);
    for_each_index(first.logical_shape(), [&](const Index& index) {
      EXPECT_EQ(values_of(direct, at.at(index)), values_of(chained, at.at(index)));
    });
  }
}

// The loops of a nest over the storage of one tensor index another one of the same layout directly.
TEST(LayoutFuzz, NoDivisionWhereTilesMatch) {
  for (int run = 0; run < kRuns && !testing::Test::HasFailure(); ++run) {
    Rng rng(kSeed + static_cast<uint64_t>(run));
    Layout l(Shape{rng.between(1, 9), rng.between(1, 64), rng.between(1, 30)});
    if (rng.chance(0.4)) {
      l = l.pad(rng.between(0, 2), rng.between(0, 3), rng.between(1, 3));
    }
    for (int i = 0; i < 3; ++i) {
      const int64_t dim = rng.between(0, static_cast<int64_t>(l.storage_shape().size()) - 1);
      const int64_t n = l.storage_shape()[static_cast<size_t>(dim)];
      // A digit of an earlier split is split exactly: what exceeds a digit would be another element.
      int64_t inner = rng.between(1, n);
      while (i > 0 && n % inner != 0) {
        --inner;
      }
      l = l.split(dim, {arith::ceil_div(n, inner), inner});
      LayoutStep shuffle{LayoutOp::kReorder, 0, {}};
      for (size_t d = 0; d < l.storage_shape().size(); ++d) {
        shuffle.args.insert(shuffle.args.begin() + rng.between(0, static_cast<int64_t>(d)),
                            static_cast<int64_t>(d));
      }
      l = l.then(shuffle);
    }
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)) + ": " +
                 to_string(l));
    const Loops nest(l.storage_shape());
    const auto logical = l.to_logical(nest.exprs, nest.ranges);
    EXPECT_EQ(count_divisions(logical), 0);
    const auto storage = l.to_storage(logical, nest.ranges);
    EXPECT_EQ(count_divisions(storage), 0);
    for (size_t d = 0; d < storage.size(); ++d) {
      if (l.storage_shape()[d] > 1) {
        EXPECT_TRUE(storage[d].same_as(nest.exprs[d]));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::layout
