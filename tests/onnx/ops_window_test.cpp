// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools against loops that follow the standard's text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;

struct Dim {
  int64_t in, kernel, stride, dilation, before, after;
  bool ceil;
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  int64_t out() const {
    const int64_t room = in + before + after - span();
    int64_t n = room / stride + 1;
    if (ceil && room % stride != 0 && n * stride < in + before) ++n;
    return n;
  }
};

struct Windows {
  std::vector<Dim> dims;
  std::vector<int64_t> list(int64_t Dim::*field) const {
    std::vector<int64_t> v;
    for (const Dim& d : dims) v.push_back(d.*field);
    return v;
  }
  std::vector<int64_t> pads() const {
    std::vector<int64_t> v = list(&Dim::before);
    for (const Dim& d : dims) v.push_back(d.after);
    return v;
  }
  Shape kernel() const { return list(&Dim::kernel); }
};

Windows random_windows(Rng& rng, size_t rank, bool ceil) {
  Windows w;
  const int64_t most =
      rng.chance(0.4) ? 7 : 3;  // large windows are computed by rows, then by columns
  while (w.dims.size() < rank) {
    Dim d{
        rng.between(1, 8), rng.between(1, most), rng.between(1, 3), rng.between(1, 2), 0, 0, ceil};
    d.before = rng.between(0, d.span() - 1);
    d.after = rng.between(0, d.span() - 1);
    if (d.in + d.before + d.after >= d.span()) w.dims.push_back(d);
  }
  return w;
}

// Calls fn(input place, counted) for each kernel position of the window at `out`; counted: in the input or in
// the padding that the model asked for. The place is empty outside of the input.
template <class Fn>
void look(const Windows& w, const Place& out, const Fn& fn) {
  for_each_place(w.kernel(), [&](const Place& k) {
    Place at{out[0], out[1]};
    bool inside = true, counted = true;
    for (size_t d = 0; d < w.dims.size(); ++d) {
      const Dim& m = w.dims[d];
      const int64_t p = out[2 + d] * m.stride + k[d] * m.dilation - m.before;
      inside = inside && p >= 0 && p < m.in;
      counted = counted && p < m.in + m.after;
      at.push_back(p);
    }
    fn(inside ? at : Place(), counted, k);
  });
}

OpRun pool_run(const std::string& op, const Windows& w, const ir::Array& x) {
  OpRun run(op, 19);
  run.in(x)
      .with("kernel_shape", w.kernel())
      .with("strides", w.list(&Dim::stride))
      .with("dilations", w.list(&Dim::dilation))
      .with("pads", w.pads())
      .with("ceil_mode", int64_t{w.dims[0].ceil});
  return run;
}

struct Sizes {
  Windows w;
  Shape in, out;
};
Sizes random_sizes(Rng& rng, bool ceil) {
  Sizes s;
  s.w = random_windows(rng, static_cast<size_t>(rng.between(1, 3)), ceil);
  s.in = {rng.between(1, 2), rng.between(1, 3)};
  s.out = s.in;
  for (const Dim& d : s.w.dims) {
    s.in.push_back(d.in);
    s.out.push_back(d.out());
  }
  return s;
}

TEST(Pool, MaxWithPlaces) {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const Sizes s = random_sizes(rng, rng.chance(0.5));
    const ir::Array x = random_array(rng, ir::kF32, s.in);
    const bool columns = rng.chance(0.5);
    const auto y =
        pool_run("MaxPool", s.w, x).with("storage_order", int64_t{columns}).outputs(2).run();
    ir::Array places(ir::kI64, s.out);
    const ir::Array top = filled_by(ir::kF32, s.out, [&](const Place& p) {
      double best = -std::numeric_limits<double>::infinity();
      Place where;
      look(s.w, p, [&](const Place& at_x, bool, const Place&) {
        if (at_x.empty() || at(x, at_x) <= best) return;
        best = at(x, at_x);
        where = at_x;
      });
      if (!where.empty()) {
        Place order = where;
        Shape extents = s.in;
        if (columns) {
          std::reverse(order.begin() + 2, order.end());
          std::reverse(extents.begin() + 2, extents.end());
        }
        places.set(offset_of(s.out, p), {offset_of(extents, order), 0});
      }
      return best;
    });
    EXPECT_EQ(difference(y[0], top), "") << "seed 11, round " << round;
    for (int64_t i = 0; i < top.elements(); ++i) {
      if (std::isinf(top.get_double(i))) continue;  // a window of padding only has no place
      ASSERT_EQ(y[1].get(i).i, places.get(i).i) << "seed 11, round " << round;
    }
  }
}

TEST(Pool, AverageCountsWhatItShould) {
  Rng rng(12);
  for (int round = 0; round < 80; ++round) {
    const Sizes s = random_sizes(rng, rng.chance(0.5));
    const ir::Array x = random_array(rng, ir::kF32, s.in);
    const bool with_pad = rng.chance(0.5);
    const auto y =
        pool_run("AveragePool", s.w, x).with("count_include_pad", int64_t{with_pad}).run();
    const ir::Array mean = filled_by(ir::kF32, s.out, [&](const Place& p) {
      double sum = 0, count = 0;
      look(s.w, p, [&](const Place& at_x, bool counted, const Place&) {
        sum += at_x.empty() ? 0 : at(x, at_x);
        count += with_pad ? counted : !at_x.empty();
      });
      return sum / std::max(count, 1.0);
    });
    EXPECT_EQ(difference(y[0], mean, 1e-5), "") << "seed 12, round " << round;
  }
}

TEST(Pool, LpNorm) {
  Rng rng(13);
  for (int round = 0; round < 30; ++round) {
    const Sizes s = random_sizes(rng, false);
    const ir::Array x = random_array(rng, ir::kF32, s.in);
    const int64_t p = rng.between(1, 3);
    const auto y = pool_run("LpPool", s.w, x).with("p", p).run();
    const auto order = static_cast<double>(p);
    const ir::Array norm = filled_by(ir::kF32, s.out, [&](const Place& at_y) {
      double sum = 0;
      look(s.w, at_y, [&](const Place& at_x, bool, const Place&) {
        if (!at_x.empty()) sum += std::pow(std::abs(at(x, at_x)), order);
      });
      return std::pow(sum, 1 / order);
    });
    EXPECT_EQ(difference(y[0], norm, 1e-4), "") << "seed 13, round " << round;
  }
}

TEST(Pool, Global) {
  Rng rng(14);
  const ir::Array x = random_array(rng, ir::kF32, {2, 3, 5, 7});
  const auto over = [&](const std::function<double(const std::vector<double>&)>& fn) {
    return filled_by(ir::kF32, {2, 3, 1, 1}, [&](const Place& p) {
      std::vector<double> v;
      for_each_place({5, 7}, [&](const Place& q) { v.push_back(at(x, {p[0], p[1], q[0], q[1]})); });
      return fn(v);
    });
  };
  EXPECT_EQ(difference(OpRun("GlobalAveragePool").in(x).run()[0], over([](const auto& v) {
                         return std::accumulate(v.begin(), v.end(), 0.0) / 35;
                       }),
                       1e-5),
            "");
  EXPECT_EQ(difference(OpRun("GlobalMaxPool").in(x).run()[0],
                       over([](const auto& v) { return *std::max_element(v.begin(), v.end()); })),
            "");
  EXPECT_EQ(difference(OpRun("GlobalLpPool").in(x).run()[0], over([](const auto& v) {
                         return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
                       }),
                       1e-5),
            "");
}

// ---- convolutions -----------------------------------------------------------------------------

TEST(Conv, GroupsBiasAndPadding) {
  Rng rng(21);
  for (int round = 0; round < 40; ++round) {
    Sizes s = random_sizes(rng, false);
    const int64_t groups = rng.between(1, 3), out_per = rng.between(1, 2),
                  in_per = rng.between(1, 2);
    s.in[1] = groups * in_per;
    s.out[1] = groups * out_per;
    Shape ws{s.out[1], in_per};
    for (const Dim& d : s.w.dims) ws.push_back(d.kernel);
    const ir::Array x = random_array(rng, ir::kF32, s.in), w = random_array(rng, ir::kF32, ws);
    const ir::Array b = random_array(rng, ir::kF32, {s.out[1]});
    const auto y = OpRun("Conv", 11)
                       .in(x)
                       .in(w)
                       .in(b)
                       .with("group", groups)
                       .with("strides", s.w.list(&Dim::stride))
                       .with("dilations", s.w.list(&Dim::dilation))
                       .with("pads", s.w.pads())
                       .run();
    const ir::Array want = filled_by(ir::kF32, s.out, [&](const Place& p) {
      double sum = at(b, {p[1]});
      look(s.w, p, [&](Place at_x, bool, const Place& k) {
        if (at_x.empty()) return;
        for (int64_t c = 0; c < in_per; ++c) {
          at_x[1] = p[1] / out_per * in_per + c;
          Place at_w{p[1], c};
          at_w.insert(at_w.end(), k.begin(), k.end());
          sum += at(x, at_x) * at(w, at_w);
        }
      });
      return sum;
    });
    EXPECT_EQ(difference(y[0], want, 1e-4), "") << "seed 21, round " << round;
  }
}

TEST(Conv, SamePaddingKeepsCeilOfTheSize) {
  Rng rng(22);
  for (const std::string mode : {"SAME_UPPER", "SAME_LOWER"}) {
    for (int64_t in = 1; in <= 7; ++in) {
      for (int64_t stride = 1; stride <= 3; ++stride) {
        const ir::Array x = random_array(rng, ir::kF32, {1, 1, in}),
                        w = random_array(rng, ir::kF32, {1, 1, 4});
        const auto y = OpRun("Conv", 11)
                           .in(x)
                           .in(w)
                           .with("auto_pad", mode)
                           .with("strides", std::vector<int64_t>{stride})
                           .run();
        const int64_t out = (in + stride - 1) / stride;
        const int64_t total = std::max<int64_t>((out - 1) * stride + 4 - in, 0);
        const int64_t before = mode == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
        const ir::Array want = filled_by(ir::kF32, {1, 1, out}, [&](const Place& p) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k) {
            const int64_t i = p[2] * stride + k - before;
            if (i >= 0 && i < in) sum += at(x, {0, 0, i}) * at(w, {0, 0, k});
          }
          return sum;
        });
        EXPECT_EQ(difference(y[0], want, 1e-5), "") << mode << " " << in << " " << stride;
      }
    }
  }
}

TEST(ConvTranspose, ScattersTheKernel) {
  Rng rng(23);
  for (int round = 0; round < 40; ++round) {
    const int64_t stride = rng.between(1, 3), dilation = rng.between(1, 2),
                  kernel = rng.between(1, 4);
    const int64_t in = rng.between(1, 5), groups = rng.between(1, 2), in_per = rng.between(1, 2);
    const int64_t out_per = rng.between(1, 2);
    const int64_t before = rng.between(0, 1), after = rng.between(0, 1);
    const int64_t extra = rng.between(0, std::max(stride, dilation) - 1);
    const int64_t out = (in - 1) * stride + (kernel - 1) * dilation + 1 - before - after + extra;
    if (out < 1) continue;
    const ir::Array x = random_array(rng, ir::kF32, {2, groups * in_per, in});
    const ir::Array w = random_array(rng, ir::kF32, {groups * in_per, out_per, kernel});
    const auto y = OpRun("ConvTranspose", 11)
                       .in(x)
                       .in(w)
                       .with("group", groups)
                       .with("strides", std::vector<int64_t>{stride})
                       .with("dilations", std::vector<int64_t>{dilation})
                       .with("pads", std::vector<int64_t>{before, after})
                       .with("output_padding", std::vector<int64_t>{extra})
                       .run();
    ir::Array want(ir::kF32, {2, groups * out_per, out});
    for_each_place({2, groups * in_per, in, out_per, kernel}, [&](const Place& p) {
      const int64_t at_y = p[2] * stride + p[4] * dilation - before;
      if (at_y < 0 || at_y >= out) return;
      const int64_t i = offset_of(want.shape(), {p[0], p[1] / in_per * out_per + p[3], at_y});
      want.set_double(i,
                      want.get_double(i) + at(x, {p[0], p[1], p[2]}) * at(w, {p[1], p[3], p[4]}));
    });
    EXPECT_EQ(difference(y[0], want, 1e-4), "") << "seed 23, round " << round;
  }
}

TEST(Windows, OddOnesAreRefused) {
  const ir::Array x(ir::kF32, {1, 1, 4, 4});
  const auto pool = [&](const std::string& name, Attribute v) {
    return OpRun("MaxPool", 12)
        .in(x)
        .with("kernel_shape", std::vector<int64_t>{2, 2})
        .with(name, std::move(v));
  };
  using V = std::vector<int64_t>;
  EXPECT_THROW(OpRun("MaxPool", 12).in(x).run(), UserError);
  EXPECT_THROW(pool("strides", V{0, 1}).run(), UserError);
  EXPECT_THROW(pool("strides", V{1}).run(), UserError);
  EXPECT_THROW(pool("dilations", V{4, 1}).run(), UserError);
  EXPECT_THROW(pool("pads", V{-1, 0, 0, 0}).run(), UserError);
  EXPECT_THROW(pool("kernel_shape", V{int64_t{1} << 62, 1}).run(), UserError);
  EXPECT_THROW(pool("auto_pad", std::string("SOME")).run(), UserError);
}

}  // namespace
}  // namespace tenon::onnx
