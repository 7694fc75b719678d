// SPDX-License-Identifier: Apache-2.0
// Sliding windows over unfolded layouts: growth, rewriting checked by brute force, and a whole
// convolution rebuilt from the storage of its output.
#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "layout/evaluate.h"
#include "layout/layout.h"
#include "support/rng.h"

namespace tenon::layout {
namespace {

using ir::Expr;
using ir::Var;

constexpr uint64_t kSeed = 4711;

struct Window {
  int64_t outputs, stride, dilation, taps, tile;
  int64_t window() const { return dilation * (taps - 1) + 1; }
  int64_t inputs() const { return stride * (outputs - 1) + window(); }
  int64_t size() const { return stride * (tile - 1) + window(); }
  int64_t step() const { return stride * tile; }
};

Window random_window(Rng& rng) {
  Window w{rng.between(3, 14), rng.between(1, 3), rng.between(1, 2), rng.between(1, 4), 0};
  w.tile = rng.between(1, w.outputs);
  return w;
}

std::string text_of(const Window& w) {
  return "outputs " + std::to_string(w.outputs) + " stride " + std::to_string(w.stride) +
         " dilation " + std::to_string(w.dilation) + " taps " + std::to_string(w.taps) + " tile " +
         std::to_string(w.tile);
}

TEST(Sliding, StorageGrowth) {
  const struct {
    int64_t taps, stride, tile_h, tile_w, block_h, block_w;
    double growth;
  } kCases[] = {{3, 1, 4, 16, 6, 18, 1.69},
                {3, 1, 14, 14, 16, 16, 1.31},
                {3, 1, 1, 16, 3, 18, 3.4},
                {7, 2, 4, 16, 13, 37, 1.88}};
  for (const auto& c : kCases) {
    const Window h{112, c.stride, 1, c.taps, c.tile_h};
    const Window w{112, c.stride, 1, c.taps, c.tile_w};
    EXPECT_EQ(h.size(), c.block_h);
    EXPECT_EQ(w.size(), c.block_w);
    // A window smaller than its stride leaves a few inputs unread; the rest is exact.
    const Layout l = Layout({h.inputs(), w.inputs()})
                         .unfold(1, w.size(), w.step())
                         .unfold(0, h.size(), h.step());
    EXPECT_EQ(l.storage_shape()[0], arith::ceil_div(h.outputs, h.tile));
    EXPECT_EQ(l.storage_shape()[2], arith::ceil_div(w.outputs, w.tile));
    const double inputs = static_cast<double>(h.inputs() * w.inputs());
    const double covered = static_cast<double>(c.stride * 112 * c.stride * 112);
    EXPECT_NEAR(l.growth() * inputs / covered, c.growth, 0.03);
  }
}

TEST(Sliding, RewriteReadsTheSameElements) {
  int many_tiles = 0;
  for (uint64_t seed = kSeed; seed < kSeed + 400 && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const Window w = random_window(rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text_of(w));
    if (w.step() > w.size()) {
      continue;  // the window is smaller than its stride: unfold would lose what nobody reads
    }
    const Layout l = Layout({w.inputs()}).unfold(0, w.size(), w.step());
    const ir::Array packed = l.pack(counted({w.inputs()}));
    many_tiles += l.storage_shape()[0] >= 3 ? 1 : 0;
    const Loops at({w.outputs, w.taps});
    const auto index =
        rewrite_sliding({at.exprs[0], w.stride, at.exprs[1] * Expr(w.dilation), w.window()},
                        w.size(), w.step(), at.ranges);
    ASSERT_TRUE(index.has_value());
    for_each_index(at.extents, [&](const Index& p) {
      const Index to = values_of({index->tile, index->offset}, at.at(p));
      ASSERT_TRUE(inside(to, l.storage_shape()));
      EXPECT_EQ(packed.get(offset_of(to, l.storage_shape())).i,
                w.stride * p[0] + w.dilation * p[1] + 1);
    });
  }
  EXPECT_GT(many_tiles, 100) << "drift shows only from the third tile on";
}

TEST(Sliding, OtherStridesAreRefused) {
  const Loops at({12, 3});
  for (int64_t stride = 1; stride <= 8; ++stride) {
    for (int64_t size = 1; size <= 12; ++size) {
      const auto index = rewrite_sliding({at.exprs[0], 2, at.exprs[1], 3}, size, stride, at.ranges);
      const bool fits = size >= 3 && stride == 2 * ((size - 3) / 2 + 1);
      EXPECT_EQ(index.has_value(), fits) << "size " << size << " stride " << stride;
    }
  }
}

TEST(Sliding, MatchingTilesLeaveNoDivision) {
  for (uint64_t seed = kSeed; seed < kSeed + 200; ++seed) {
    Rng rng(seed);
    const Window w = random_window(rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text_of(w));
    const Loops at({arith::ceil_div(w.outputs, w.tile), w.tile, w.taps});
    const Expr i = at.exprs[0] * Expr(w.tile) + at.exprs[1];
    const auto index = rewrite_sliding({i, w.stride, at.exprs[2] * Expr(w.dilation), w.window()},
                                       w.size(), w.step(), at.ranges);
    ASSERT_TRUE(index.has_value());
    EXPECT_EQ(count_divisions({index->tile, index->offset}), 0)
        << ir::to_string(index->tile) << ", " << ir::to_string(index->offset);
  }
}

// ---- a whole convolution -------------------------------------------------------------------------

// y[h, w, o] = sum x[V*h + d*r, V*w + d*s, i] * k[o, i, r, s], from random layouts of all three.
struct Conv {
  Window h, w;
  int64_t outs, ins, out_tile, in_tile, weight_in_tile, weight_out_tile;

  std::vector<int64_t> x_shape() const { return {h.inputs(), w.inputs(), ins}; }
  std::vector<int64_t> y_shape() const { return {h.outputs, w.outputs, outs}; }
  std::vector<int64_t> k_shape() const { return {outs, ins, h.taps, w.taps}; }
  Layout x_layout() const {
    return Layout(x_shape())
        .unfold(0, h.size(), h.step())
        .unfold(2, w.size(), w.step())
        .split(4, {arith::ceil_div(ins, in_tile), in_tile})
        .reorder({0, 2, 4, 1, 3, 5});
  }
  Layout y_layout() const {
    return Layout(y_shape())
        .split(0, {arith::ceil_div(h.outputs, h.tile), h.tile})
        .split(2, {arith::ceil_div(w.outputs, w.tile), w.tile})
        .split(4, {arith::ceil_div(outs, out_tile), out_tile})
        .reorder({0, 2, 4, 1, 3, 5});
  }
  Layout k_layout() const {
    return Layout(k_shape())
        .split(0, {arith::ceil_div(outs, weight_out_tile), weight_out_tile})
        .split(2, {arith::ceil_div(ins, weight_in_tile), weight_in_tile})
        .reorder({0, 2, 4, 5, 3, 1});
  }
};

Conv random_conv(Rng& rng) {
  const auto small = [&](int64_t stride, int64_t dilation) {
    // A window at least as long as its stride, so that unfold loses nothing.
    Window w{rng.between(1, 5), stride, dilation, rng.between(1, 3), 0};
    w.taps = std::max(w.taps, arith::ceil_div(stride - 1, dilation) + 1);
    w.tile = rng.between(1, w.outputs);
    return w;
  };
  const int64_t stride = rng.between(1, 3), dilation = rng.between(1, 2);
  const int64_t outs = rng.between(1, 4), ins = rng.between(1, 3);
  return {small(stride, dilation),
          small(stride, dilation),
          outs,
          ins,
          rng.between(1, outs),
          rng.between(1, ins),
          rng.between(1, ins),
          rng.between(1, outs)};
}

int64_t reference(const Conv& c, const ir::Array& x, const ir::Array& k, const Index& y) {
  int64_t sum = 0;
  for_each_index({c.ins, c.h.taps, c.w.taps}, [&](const Index& r) {
    const Index from{c.h.stride * y[0] + c.h.dilation * r[1],
                     c.w.stride * y[1] + c.w.dilation * r[2], r[0]};
    sum += x.get(offset_of(from, c.x_shape())).i *
           k.get(offset_of({y[2], r[0], r[1], r[2]}, c.k_shape())).i;
  });
  return sum;
}

void check_conv(const Conv& c) {
  const Layout lx = c.x_layout(), ly = c.y_layout(), lk = c.k_layout();
  const ir::Array x = counted(c.x_shape()), k = counted(c.k_shape());
  const ir::Array px = lx.pack(x), pk = lk.pack(k);
  std::vector<int64_t> nest = ly.storage_shape();
  nest.insert(nest.end(), {c.ins, c.h.taps, c.w.taps});
  const Loops at(nest);
  const std::vector<Expr> spatial(at.exprs.begin(), at.exprs.begin() + 6);
  const auto y = ly.to_logical(spatial, at.ranges);
  const auto h = rewrite_sliding({y[0], c.h.stride, at.exprs[7] * Expr(c.h.dilation), c.h.window()},
                                 c.h.size(), c.h.step(), at.ranges);
  const auto w = rewrite_sliding({y[1], c.w.stride, at.exprs[8] * Expr(c.w.dilation), c.w.window()},
                                 c.w.size(), c.w.step(), at.ranges);
  ASSERT_TRUE(h && w);
  const auto channel = Layout({c.ins})
                           .split(0, {arith::ceil_div(c.ins, c.in_tile), c.in_tile})
                           .to_storage({at.exprs[6]}, at.ranges);
  const std::vector<Expr> ix{h->tile, w->tile, channel[0], h->offset, w->offset, channel[1]};
  const auto ik = lk.to_storage({y[2], at.exprs[6], at.exprs[7], at.exprs[8]}, at.ranges);
  const Expr holds = ly.holds_element(spatial, at.ranges);
  EXPECT_EQ(count_divisions({h->tile, h->offset, w->tile, w->offset}), 0);
  for_each_index(ly.storage_shape(), [&](const Index& p) {
    int64_t sum = 0;
    Index point = p;
    point.resize(9, 0);
    const Env first = at.at(point);
    if (ir::eval(holds, first).i == 0) {
      return;
    }
    for_each_index({c.ins, c.h.taps, c.w.taps}, [&](const Index& r) {
      std::copy(r.begin(), r.end(), point.begin() + 6);
      const Env env = at.at(point);
      sum += px.get(offset_of(values_of(ix, env), lx.storage_shape())).i *
             pk.get(offset_of(values_of(ik, env), lk.storage_shape())).i;
    });
    ASSERT_EQ(sum, reference(c, x, k, values_of(y, first)));
  });
}

TEST(Sliding, WholeConvolution) {
  for (uint64_t seed = kSeed; seed < kSeed + 60 && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const Conv c = random_conv(rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text_of(c.h) + "; " + text_of(c.w));
    check_conv(c);
  }
}

}  // namespace
}  // namespace tenon::layout
