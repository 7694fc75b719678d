// SPDX-License-Identifier: Apache-2.0
#include "layout/layout.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "layout/evaluate.h"

namespace tenon::layout {
namespace {

using ir::Expr;
using ir::Var;
using Shape = std::vector<int64_t>;

std::string text_of(const std::vector<Expr>& exprs) {
  std::string out;
  for (const Expr& e : exprs) {
    out += (out.empty() ? "" : ", ") + ir::to_string(e);
  }
  return out;
}

TEST(Layout, BlockedActivations) {
  const Layout l = Layout({1, 64, 56, 56}).split(1, {4, 16}).reorder({0, 1, 3, 4, 2});
  EXPECT_EQ(l.storage_shape(), (Shape{1, 4, 56, 56, 16}));
  EXPECT_TRUE(l.is_bijective());
  EXPECT_FALSE(l.duplicates());
  EXPECT_EQ(l.growth(), 1);
  const Loops at(l.logical_shape());
  EXPECT_EQ(text_of(l.to_storage(at.exprs, at.ranges)), "i0, i1 // 16, i2, i3, i1 % 16");
  const Loops stored(l.storage_shape());
  EXPECT_EQ(text_of(l.to_logical(stored.exprs, stored.ranges)), "i0, i1 * 16 + i4, i2, i3");
  EXPECT_TRUE(ir::is_const_true(l.holds_element(stored.exprs, stored.ranges)));
}

TEST(Layout, UnfoldOfFive) {
  const Layout l = Layout({5}).unfold(0, 3, 2);
  EXPECT_EQ(l.storage_shape(), (Shape{2, 3}));
  EXPECT_TRUE(l.duplicates());
  EXPECT_TRUE(l.is_padding_free());
  EXPECT_FALSE(l.is_bijective());
  const ir::Array packed = l.pack(counted({5}));
  Shape got;
  for (int64_t i = 0; i < 6; ++i) {
    got.push_back(packed.get(i).i);
  }
  EXPECT_EQ(got, (Shape{1, 2, 3, 3, 4, 5}));
}

TEST(Layout, UnfoldBeyondTheEndHoldsZero) {
  const Layout l = Layout({7}).unfold(0, 5, 3);
  EXPECT_EQ(l.storage_shape(), (Shape{2, 5}));
  EXPECT_FALSE(l.is_padding_free());
  EXPECT_EQ(l.pack(counted({7})).get(9).i, 0);
  EXPECT_EQ(l.pack(counted({7})).get(8).i, 7);
}

TEST(Layout, SplitThatDoesNotDivideIsPadded) {
  const Layout l = Layout({5}).split(0, {2, 4});
  EXPECT_FALSE(l.is_padding_free());
  EXPECT_DOUBLE_EQ(l.growth(), 8.0 / 5);
  const Loops stored(l.storage_shape());
  EXPECT_EQ(ir::to_string(l.holds_element(stored.exprs, stored.ranges)), "i0 * 4 + i1 < 5");
}

// The bias as row K of the K x N weight, before blocking (ALT, store_at).
TEST(Layout, StoreAtLeavesRoomForASlab) {
  const Layout l =
      Layout({5, 6}).store_at(0, 1).split(0, {2, 4}).split(2, {2, 3}).reorder({0, 2, 1, 3});
  EXPECT_EQ(l.storage_shape(), (Shape{2, 2, 4, 3}));
  const ir::Array packed = l.pack(counted({5, 6}));
  const Loops slab({1, 6});
  const auto place = l.to_storage({Expr(5), slab.exprs[1]}, slab.ranges);
  std::vector<bool> used(48, false);
  for (int64_t n = 0; n < 6; ++n) {
    const int64_t at = offset_of(values_of(place, slab.at({0, n})), l.storage_shape());
    EXPECT_EQ(packed.get(at).i, 0) << "the slab overlaps the weight";
    EXPECT_FALSE(used[static_cast<size_t>(at)]);
    used[static_cast<size_t>(at)] = true;
  }
}

// conv2d 56x56, 64 to 64 channels, 3x3, tiles 4x14x16: every index is a loop variable.
TEST(Layout, TilesThatMatchLeaveNoDivision) {
  const Layout output = Layout({1, 56, 56, 64})
                            .split(1, {14, 4})
                            .split(3, {4, 14})
                            .split(5, {4, 16})
                            .reorder({0, 1, 3, 5, 2, 4, 6});
  EXPECT_EQ(output.storage_shape(), (Shape{1, 14, 4, 4, 4, 14, 16}));
  const Loops nest(output.storage_shape());
  const auto logical = output.to_logical(nest.exprs, nest.ranges);
  EXPECT_EQ(text_of(logical), "i0, i1 * 4 + i4, i2 * 14 + i5, i3 * 16 + i6");
  EXPECT_EQ(text_of(output.to_storage(logical, nest.ranges)), "i0, i1, i2, i3, i4, i5, i6");

  const Layout weight =
      Layout({64, 64, 3, 3}).split(0, {4, 16}).split(2, {4, 16}).reorder({0, 2, 4, 5, 3, 1});
  arith::Ranges ranges = nest.ranges;
  const Var io("io"), ii("ii"), r("r"), s("s");
  ranges.bind(io, {0, 3});
  ranges.bind(ii, {0, 15});
  ranges.bind(r, {0, 2});
  ranges.bind(s, {0, 2});
  const Expr channel = io * 16 + ii;
  EXPECT_EQ(text_of(weight.to_storage({logical[3], channel, r, s}, ranges)),
            "i3, io, r, s, ii, i6");

  const Layout input = Layout({1, 58, 58, 64}).unfold(1, 6, 4).unfold(3, 16, 14).split(5, {4, 16});
  EXPECT_EQ(input.storage_shape(), (Shape{1, 14, 6, 4, 16, 4, 16}));
  const auto h = rewrite_sliding({logical[1], 1, r, 3}, 6, 4, ranges);
  const auto w = rewrite_sliding({logical[2], 1, s, 3}, 16, 14, ranges);
  ASSERT_TRUE(h && w);
  EXPECT_EQ(text_of({h->tile, h->offset, w->tile, w->offset}), "i1, i4 + r, i2, i5 + s");
  EXPECT_NEAR(input.growth() * 58 * 58 / (56 * 56), 96.0 / 56, 1e-9);
}

TEST(Layout, TextRoundTrip) {
  EXPECT_EQ(to_string(Layout({3, 4})), "");
  const Layout l = Layout({1, 64, 9, 9})
                       .split(1, {4, 16})
                       .reorder({0, 1, 3, 4, 2})
                       .pad(2, 1, 2)
                       .unfold(3, 5, 3)
                       .store_at(0, 2)
                       .fuse(0, 2);
  const std::string text =
      "split(1,[4,16]).reorder([0,1,3,4,2]).pad(2,1,2).unfold(3,5,3).store_at(0,2).fuse(0,2)";
  EXPECT_EQ(to_string(l), text);
  EXPECT_EQ(parse_layout(text, {1, 64, 9, 9}), l);
  EXPECT_EQ(parse_layout(" split( 1, [4, 16] ) . fuse(0,2)", {1, 64}),
            Layout({1, 64}).split(1, {4, 16}).fuse(0, 2));
  EXPECT_TRUE(parse_layout("", {3}).is_identity());
}

TEST(Layout, BadTextNamesTheColumn) {
  const struct {
    const char* text;
    int column;
    const char* message;
  } kCases[] = {
      {"spilt(0,[2,2])", 1, "'spilt' is not a layout primitive"},
      {"split(0,[2,2]", 14, "')' expected"},
      {"split(0,2)", 9, "'[' expected"},
      {"split(0,[2,x])", 12, "a number expected"},
      {"split(0,[2,2]) fuse(0,2)", 16, "'.' expected"},
      {"split(0,[2,2]).pad(5,1,1)", 16, "there is no dimension 5; the layout has 2"},
      {"pad(0,1)", 1, "pad takes 2 numbers, not 1"},
  };
  for (const auto& c : kCases) {
    try {
      parse_layout(c.text, {4});
      FAIL() << c.text;
    } catch (const UserError& e) {
      EXPECT_EQ(e.column(), c.column) << c.text;
      EXPECT_NE(std::string(e.what()).find(c.message), std::string::npos) << e.what();
    }
  }
}

// Rows of eight quads: what lies at one place of all rows is in eight banks of them, and each row holds what it did.
TEST(Layout, SwizzleKeepsRowsAndPartsColumns) {
  const Layout l = Layout({16, 8}).swizzle(1, 0, 8);
  EXPECT_TRUE(l.is_bijective());
  EXPECT_EQ(l.storage_shape(), (std::vector<int64_t>{16, 8}));
  ir::Array logical(ir::kI64, {16, 8});
  for (int64_t i = 0; i < 128; ++i) logical.set(i, ir::Scalar{.i = i});
  const ir::Array stored = l.pack(logical);
  for (int64_t column = 0; column < 8; ++column) {
    for (int64_t row = 0; row < 16; ++row)
      EXPECT_EQ(stored.get(row * 8 + (column ^ row % 8)).i, row * 8 + column);
  }
  const ir::Var r("r"), c("c");
  arith::Ranges ranges;
  ranges.bind(r, {0, 15});
  ranges.bind(c, {0, 7});
  const auto back = l.to_logical(l.to_storage({r, c}, ranges), ranges);
  EXPECT_TRUE(back[1].same_as(c));
  EXPECT_FALSE(same_storage(l, Layout({16, 8})));
  EXPECT_EQ(parse_layout(to_string(l), {16, 8}), l);
}

TEST(Layout, RefusalsSayWhy) {
  const Layout l({6, 5});
  const struct {
    LayoutStep step;
    const char* reason;
  } kCases[] = {
      {{LayoutOp::kSplit, 0, {6}}, "split needs at least two factors"},
      {{LayoutOp::kSplit, 0, {2, 0}}, "split factor 0 is not positive"},
      {{LayoutOp::kSplit, 0, {2, 2}}, "the split factors hold 4 elements, the dimension has 6"},
      {{LayoutOp::kSplit, 0, {int64_t{1} << 40, int64_t{1} << 40}},
       "the split factors are too large"},
      {{LayoutOp::kSplit, 2, {2, 3}}, "there is no dimension 2; the layout has 2"},
      {{LayoutOp::kSplit, -1, {2, 3}}, "there is no dimension -1; the layout has 2"},
      {{LayoutOp::kReorder, 0, {0}}, "reorder names 1 dimensions, the layout has 2"},
      {{LayoutOp::kReorder, 0, {0, 0}}, "reorder does not name each dimension once"},
      {{LayoutOp::kReorder, 0, {0, 2}}, "reorder does not name each dimension once"},
      {{LayoutOp::kFuse, 0, {1}}, "fuse needs at least two dimensions"},
      {{LayoutOp::kFuse, 1, {2}}, "fuse of 2 dimensions from 1 passes the last of 2"},
      {{LayoutOp::kFuse, 0, {2, 2}}, "fuse takes 1 numbers, not 2"},
      {{LayoutOp::kPad, 0, {-1, 2}}, "padding is not negative"},
      {{LayoutOp::kPad, 0, {0, 0}}, "padding by nothing"},
      {{LayoutOp::kPad, 0, {0, int64_t{1} << 47}},
       "the layout would store more than 2^48 elements"},
      {{LayoutOp::kUnfold, 0, {7, 1}}, "unfold tile 7 is not in 1..6"},
      {{LayoutOp::kUnfold, 0, {3, 4}}, "unfold stride 4 is not in 1..3: elements would be lost"},
      {{LayoutOp::kUnfold, 0, {3, 0}}, "unfold stride 0 is not in 1..3: elements would be lost"},
      {{LayoutOp::kStoreAt, 0, {0}}, "store_at needs room for at least one slab"},
      {{LayoutOp::kSwizzle, 0, {0, 2}}, "dimension 0 cannot be swizzled by dimension 0"},
      {{LayoutOp::kSwizzle, 0, {2, 2}}, "dimension 0 cannot be swizzled by dimension 2"},
      {{LayoutOp::kSwizzle, 0, {1, 3}}, "swizzle by 3 is no power of two above 1"},
      {{LayoutOp::kSwizzle, 1, {0, 2}}, "5 elements are no multiple of swizzle 2"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(l.why_not(c.step), c.reason);
    EXPECT_THROW(l.then(c.step), InternalError);
  }
  EXPECT_EQ(l.why_not({LayoutOp::kSplit, 0, {2, 4}}), "");
  EXPECT_THROW(Layout({3}).compose(Layout({4})), InternalError);
}

}  // namespace
}  // namespace tenon::layout
