// SPDX-License-Identifier: Apache-2.0
// What opsets 23 and 24 brought for language models, against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;

constexpr double kNone = -std::numeric_limits<double>::infinity();

// Attention of four dimensions, one number after the other.
struct Plain {
  ir::Array q, k, v;  // with the past in front
  int64_t past = 0;
  double scale = 1, cap = 0;
  bool causal = false;
  std::optional<ir::Array> mask, lengths;

  int64_t keys() const { return k.shape()[2]; }

  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t shared = q.shape()[1] / k.shape()[1];
    double sum = 0;
    for (int64_t d = 0; d < q.shape()[3]; ++d) {
      sum += at(q, {b, h, i, d}) * at(k, {b, h / shared, j, d}) * scale;
    }
    return sum;
  }
  double capped(double s) const { return cap > 0 ? std::tanh(s / cap) * cap : s; }
  double bias(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    if (mask) {
      const Shape& own = mask->shape();
      const Place all{b, h, i, j};
      Place place(all.end() - static_cast<std::ptrdiff_t>(own.size()), all.end());
      for (size_t d = 0; d + 1 < own.size(); ++d) place[d] = own[d] == 1 ? 0 : place[d];
      if (j >= own.back()) return kNone;
      const double m = at(*mask, place);
      sum += mask->dtype().is_bool() ? (m != 0 ? 0 : kNone) : m;
    }
    const auto length = lengths ? static_cast<int64_t>(at(*lengths, {b})) : 0;
    if (causal && j > i + (lengths ? length - q.shape()[2] : past)) sum = kNone;
    if (lengths && j >= length) sum = kNone;
    return sum;
  }
  // Scores of one row after the softmax.
  std::vector<double> row(int64_t b, int64_t h, int64_t i) const {
    std::vector<double> p;
    double total = 0;
    for (int64_t j = 0; j < keys(); ++j) {
      p.push_back(std::exp(capped(score(b, h, i, j)) + bias(b, h, i, j)));
      total += p.back();
    }
    for (double& e : p) e = total == 0 ? 0 : e / total;
    return p;
  }
  ir::Array result() const {
    const int64_t shared = q.shape()[1] / k.shape()[1];
    return filled_by(
        q.dtype(), {q.shape()[0], q.shape()[1], q.shape()[2], v.shape()[3]}, [&](const Place& p) {
          const std::vector<double> weights = row(p[0], p[1], p[2]);
          double sum = 0;
          for (int64_t j = 0; j < keys(); ++j) {
            sum += weights[static_cast<size_t>(j)] * at(v, {p[0], p[1] / shared, j, p[3]});
          }
          return sum;
        });
  }
  ir::Array scores(int mode) const {
    return filled_by(
        q.dtype(), {q.shape()[0], q.shape()[1], q.shape()[2], keys()}, [&](const Place& p) {
          const double s = score(p[0], p[1], p[2], p[3]);
          if (mode == 3) return row(p[0], p[1], p[2])[static_cast<size_t>(p[3])];
          return mode == 0 ? s : mode == 1 ? capped(s) : capped(s) + bias(p[0], p[1], p[2], p[3]);
        });
  }
};

Plain random_attention(Rng& rng, ir::DType t = ir::kF32) {
  const int64_t batch = rng.between(1, 2), kv = rng.between(1, 2), shared = rng.between(1, 3);
  const int64_t rows = rng.between(1, 5), keys = rng.between(1, 6);
  const int64_t size = rng.between(1, 5), v_size = rng.between(1, 4);
  Plain a;
  a.q = random_array(rng, t, {batch, kv * shared, rows, size});
  a.k = random_array(rng, t, {batch, kv, keys, size});
  a.v = random_array(rng, t, {batch, kv, keys, v_size});
  a.scale = 1 / std::sqrt(static_cast<double>(size));
  return a;
}

ir::Array random_mask(Rng& rng, const Plain& a, int64_t keys) {
  const Shape full{a.q.shape()[0], a.q.shape()[1], a.q.shape()[2], keys};
  Shape shape(full.end() - rng.between(2, 4), full.end());
  if (shape.size() > 2 && rng.between(0, 1) == 1) shape[0] = 1;
  return random_array(rng, rng.between(0, 1) == 1 ? ir::kBool : ir::kF32, shape);
}

TEST(Attention, Plain) {
  Rng rng(71);
  for (int i = 0; i < 12; ++i) {
    const Plain a = random_attention(rng);
    EXPECT_EQ(difference(OpRun("Attention", 23).in(a.q).in(a.k).in(a.v).run()[0], a.result(), 1e-5),
              "");
  }
}

TEST(Attention, MasksCapsAndScores) {
  Rng rng(72);
  for (int i = 0; i < 24; ++i) {
    Plain a = random_attention(rng);
    a.cap = rng.between(0, 1) == 1 ? 1.5 : 0;
    a.causal = rng.between(0, 1) == 1;
    a.scale = 0.25;
    const int mode = i % 4;
    OpRun run("Attention", 24);
    run.in(a.q).in(a.k).in(a.v).with("scale", a.scale).with("softcap", a.cap);
    run.with("is_causal", int64_t{a.causal}).with("qk_matmul_output_mode", int64_t{mode});
    if (rng.between(0, 3) > 0) {
      // A mask may end before the keys do.
      a.mask = random_mask(rng, a, rng.between(1, a.keys()));
      run.in(*a.mask);
    }
    const auto got = run.outputs(4).run();
    EXPECT_EQ(difference(got[0], a.result(), 1e-5), "") << i;
    EXPECT_EQ(difference(got[1], a.k), "");
    EXPECT_EQ(difference(got[3], a.scores(mode), 1e-5), "") << i << " mode " << mode;
  }
}

TEST(Attention, PastKeysComeFirst) {
  Rng rng(73);
  for (int i = 0; i < 8; ++i) {
    Plain a = random_attention(rng);
    a.causal = true;
    a.past = rng.between(1, 3);
    Shape k = a.k.shape(), v = a.v.shape();
    k[2] = v[2] = a.past;
    const ir::Array past_k = random_array(rng, ir::kF32, k),
                    past_v = random_array(rng, ir::kF32, v);
    const auto got = OpRun("Attention", 23)
                         .in(a.q)
                         .in(a.k)
                         .in(a.v)
                         .absent()
                         .in(past_k)
                         .in(past_v)
                         .with("is_causal", int64_t{1})
                         .outputs(3)
                         .run();
    const auto joined = [&](const ir::Array& before, const ir::Array& now) {
      Shape shape = now.shape();
      shape[2] += a.past;
      return filled_by(ir::kF32, shape, [&](const Place& p) {
        return p[2] < a.past ? at(before, p) : at(now, {p[0], p[1], p[2] - a.past, p[3]});
      });
    };
    a.k = joined(past_k, a.k);
    a.v = joined(past_v, a.v);
    EXPECT_EQ(difference(got[0], a.result(), 1e-5), "") << i;
    EXPECT_EQ(difference(got[1], a.k), "");
    EXPECT_EQ(difference(got[2], a.v), "");
  }
}

TEST(Attention, LengthsEndEachCache) {
  Rng rng(74);
  for (int i = 0; i < 12; ++i) {
    Plain a = random_attention(rng);
    a.causal = i % 2 == 0;
    const int64_t batch = a.q.shape()[0];
    a.lengths = ir::Array(ir::kI64, {batch});
    for (int64_t b = 0; b < batch; ++b) a.lengths->set(b, {rng.between(0, a.keys()), 0});
    const auto got = OpRun("Attention", 24)
                         .in(a.q)
                         .in(a.k)
                         .in(a.v)
                         .absent()
                         .absent()
                         .absent()
                         .in(*a.lengths)
                         .with("is_causal", int64_t{a.causal})
                         .run();
    EXPECT_EQ(difference(got[0], a.result(), 1e-5), "") << i;
  }
}

TEST(Attention, ThreeDimensionsAreSplitIntoHeads) {
  Rng rng(75);
  Plain a = random_attention(rng);
  const auto flat = [](const ir::Array& x) {
    const Shape s = x.shape();
    return filled_by(x.dtype(), {s[0], s[2], s[1] * s[3]}, [&](const Place& p) {
      return at(x, {p[0], p[2] / s[3], p[1], p[2] % s[3]});
    });
  };
  const auto run = [&] {
    return OpRun("Attention", 23)
        .in(flat(a.q))
        .in(flat(a.k))
        .in(flat(a.v))
        .with("q_num_heads", a.q.shape()[1])
        .with("kv_num_heads", a.k.shape()[1]);
  };
  EXPECT_EQ(difference(run().run()[0], flat(a.result()), 1e-5), "");
  EXPECT_THROW(run().with("q_num_heads", int64_t{0}).run(), UserError);
  a = random_attention(rng, ir::kF16);
  EXPECT_EQ(
      difference(run().with("softmax_precision", int64_t{1}).run()[0], flat(a.result()), 5e-3), "");
}

TEST(Attention, WhatDoesNotFitIsRefused) {
  const ir::Array q(ir::kF32, {1, 2, 3, 4}), k(ir::kF32, {1, 1, 5, 4}), odd(ir::kF32, {1, 1, 5, 3});
  EXPECT_THROW(OpRun("Attention", 23).in(q).in(odd).in(k).run(), UserError);
  EXPECT_THROW(OpRun("Attention", 23).in(q).in(k).in(k).in(ir::Array(ir::kF32, {3, 4})).run(),
               UserError)
      << "masks end early from opset 24 on";
  EXPECT_THROW(OpRun("Attention", 23).in(q).in(k).in(k).absent().in(k).run(), UserError);
  EXPECT_THROW(
      OpRun("Attention", 23).in(q).in(k).in(k).with("qk_matmul_output_mode", int64_t{4}).run(),
      UserError);
}

// The element that x[d] is turned with, and whether it is the first of the two.
struct Partner {
  int64_t other, angle;
  bool first;
};
Partner partner(int64_t d, int64_t half, bool pairs) {
  if (pairs) return {d % 2 == 0 ? d + 1 : d - 1, d / 2, d % 2 == 0};
  return {d < half ? d + half : d - half, d % half, d < half};
}

TEST(Rotary, TurnsPairsByPosition) {
  Rng rng(76);
  for (int i = 0; i < 16; ++i) {
    const bool pairs = i % 2 == 0, positions = i % 4 < 2, flat = i % 8 < 4;
    const int64_t batch = 2, heads = 3, length = rng.between(1, 4);
    const int64_t half = rng.between(1, 3), size = 2 * half + (i % 3 == 0 ? 3 : 0);
    const ir::Array x = random_array(rng, ir::kF32, {batch, heads, length, size});
    const Shape table = positions ? Shape{7, half} : Shape{batch, length, half};
    const ir::Array cosine = random_array(rng, ir::kF32, table),
                    sine = random_array(rng, ir::kF32, table);
    ir::Array ids(ir::kI64, {batch, length});
    for (int64_t e = 0; e < ids.elements(); ++e) ids.set(e, {rng.between(0, 6), 0});
    const auto entry = [&](const ir::Array& t, const Place& p, int64_t angle) {
      if (!positions) return at(t, {p[0], p[2], angle});
      return at(t, {static_cast<int64_t>(at(ids, {p[0], p[2]})), angle});
    };
    const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
      if (p[3] >= 2 * half) return at(x, p);
      const Partner o = partner(p[3], half, pairs);
      const double s = entry(sine, p, o.angle) * at(x, {p[0], p[1], p[2], o.other});
      return entry(cosine, p, o.angle) * at(x, p) + (o.first ? -s : s);
    });
    const auto by_length = [&](const ir::Array& a) {
      return filled_by(ir::kF32, {batch, length, heads * size}, [&](const Place& p) {
        return at(a, {p[0], p[2] / size, p[1], p[2] % size});
      });
    };
    OpRun run("RotaryEmbedding", 23);
    run.in(flat ? by_length(x) : x).in(cosine).in(sine).with("interleaved", int64_t{pairs});
    if (positions) run.in(ids);
    if (flat) run.with("num_heads", heads);
    if (size != 2 * half) run.with("rotary_embedding_dim", 2 * half);
    EXPECT_EQ(difference(run.run()[0], flat ? by_length(want) : want, 1e-5), "") << i;
  }
}

TEST(Rotary, PositionsOutsideOfTheTableAreRefused) {
  const ir::Array x(ir::kF32, {1, 1, 2, 2}), table(ir::kF32, {512, 1});
  ir::Array ids(ir::kI64, {1, 2});
  ids.set(1, {512, 0});
  EXPECT_THROW(OpRun("RotaryEmbedding", 23).in(x).in(table).in(table).known(ids).run(), UserError);
  ids.set(1, {511, 0});
  EXPECT_NO_THROW(OpRun("RotaryEmbedding", 23).in(x).in(table).in(table).known(ids).run());
}

TEST(RmsNorm, OverTheLastDimensions) {
  Rng rng(77);
  const ir::Array x = random_array(rng, ir::kF32, {2, 3, 4, 5});
  for (int64_t axis = -4; axis < 4; ++axis) {
    const auto first = static_cast<size_t>(axis < 0 ? axis + 4 : axis);
    const Shape inner(x.shape().begin() + static_cast<std::ptrdiff_t>(first), x.shape().end());
    const ir::Array scale = random_array(rng, ir::kF32, inner);
    const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
      double sum = 0, n = 0;
      for_each_place(inner, [&](const Place& q) {
        Place all(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(first));
        all.insert(all.end(), q.begin(), q.end());
        sum += at(x, all) * at(x, all);
        n += 1;
      });
      const Place own(p.begin() + static_cast<std::ptrdiff_t>(first), p.end());
      return at(x, p) / std::sqrt(sum / n + 1e-3) * at(scale, own);
    });
    EXPECT_EQ(difference(OpRun("RMSNormalization", 23)
                             .in(x)
                             .in(scale)
                             .with("axis", axis)
                             .with("epsilon", 1e-3)
                             .run()[0],
                         want, 1e-5),
              "")
        << axis;
  }
  const ir::Array half = random_array(rng, ir::kF16, {2, 4});
  EXPECT_EQ(OpRun("RMSNormalization", 23).in(half).in(floats({1, 2, 3, 4})).run()[0].dtype(),
            ir::kF32)
      << "the scale's type";
  EXPECT_THROW(OpRun("RMSNormalization", 23).in(x).in(floats({1, 2})).run(), UserError);
}

TEST(Swish, IsSigmoidTimesItself) {
  Rng rng(78);
  const ir::Array x = random_array(rng, ir::kF32, {3, 7});
  const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
    return at(x, p) / (1 + std::exp(-1.5 * at(x, p)));
  });
  EXPECT_EQ(difference(OpRun("Swish", 24).in(x).with("alpha", 1.5).run()[0], want, 1e-6), "");
}

TEST(TensorScatter, WritesFromAPlaceOn) {
  Rng rng(79);
  for (const bool circular : {false, true}) {
    const ir::Array cache = random_array(rng, ir::kF32, {2, 3, 5, 2});
    const ir::Array update = random_array(rng, ir::kF32, {2, 3, 3, 2});
    const ir::Array places = ints({circular ? 4 : 1, 2});
    const ir::Array want = filled_by(ir::kF32, cache.shape(), [&](const Place& p) {
      const auto from = static_cast<int64_t>(at(places, {p[0]}));
      const int64_t k = circular ? (p[2] - from + 5) % 5 : p[2] - from;
      return k >= 0 && k < 3 ? at(update, {p[0], p[1], k, p[3]}) : at(cache, p);
    });
    OpRun run("TensorScatter", 24);
    run.in(cache).in(update).in(places).with("mode", std::string(circular ? "circular" : "linear"));
    EXPECT_EQ(difference(run.run()[0], want), "");
  }
  const ir::Array cache(ir::kF32, {1, 4, 2}), update(ir::kF32, {1, 3, 2});
  EXPECT_NO_THROW(OpRun("TensorScatter", 24).in(cache).in(update).run());
  EXPECT_THROW(OpRun("TensorScatter", 24).in(cache).in(update).known(ints({2})).run(), UserError);
  EXPECT_THROW(OpRun("TensorScatter", 24).in(update).in(cache).run(), UserError);
}

}  // namespace
}  // namespace tenon::onnx
