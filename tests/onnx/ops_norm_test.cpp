// SPDX-License-Identifier: Apache-2.0
// Normalisations, products of matrices and resizing against plain loops, where ONNX's own cases do not reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;

struct Stats {
  double mean, variance;
};
// Over the places p for which `in` says so.
template <class Fn>
Stats stats(const ir::Array& x, const Fn& in) {
  double sum = 0, squares = 0, n = 0;
  for_each_place(x.shape(), [&](const Place& p) {
    if (!in(p)) return;
    sum += at(x, p);
    squares += at(x, p) * at(x, p);
    n += 1;
  });
  return {sum / n, squares / n - sum / n * (sum / n)};
}

TEST(Norm, Batch) {
  Rng rng(31);
  const ir::Array x = random_array(rng, ir::kF32, {2, 3, 4, 5});
  const ir::Array scale = random_array(rng, ir::kF32, {3}), bias = random_array(rng, ir::kF32, {3});
  const ir::Array mean = random_array(rng, ir::kF32, {3}), variance = floats({0.5, 1, 2.5});
  const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
    const int64_t c = p[1];
    return (at(x, p) - at(mean, {c})) / std::sqrt(at(variance, {c}) + 1e-3) * at(scale, {c}) +
           at(bias, {c});
  });
  const auto known = OpRun("BatchNormalization", 15)
                         .in(x)
                         .known(scale)
                         .known(bias)
                         .known(mean)
                         .known(variance)
                         .with("epsilon", 1e-3)
                         .run();
  EXPECT_EQ(difference(known[0], want, 1e-5), "");
  const auto open = OpRun("BatchNormalization", 15)
                        .in(x)
                        .in(scale)
                        .in(bias)
                        .in(mean)
                        .in(variance)
                        .with("epsilon", 1e-3)
                        .run();
  EXPECT_EQ(difference(open[0], want, 1e-5), "");
  EXPECT_THROW(
      OpRun("BatchNormalization", 15).in(x).in(floats({1, 2})).in(bias).in(mean).in(variance).run(),
      UserError);
}

TEST(Norm, GroupScalesGroupsOrChannels) {
  Rng rng(32);
  const ir::Array x = random_array(rng, ir::kF32, {2, 6, 3, 5});
  for (const int64_t opset : {18, 21}) {
    const int64_t n = opset < 21 ? 3 : 6;
    const ir::Array scale = random_array(rng, ir::kF32, {n}),
                    bias = random_array(rng, ir::kF32, {n});
    const auto y = OpRun("GroupNormalization", opset)
                       .in(x)
                       .in(scale)
                       .in(bias)
                       .with("num_groups", int64_t{3})
                       .with("epsilon", 1e-2)
                       .run();
    const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
      const Stats s =
          stats(x, [&](const Place& q) { return q[0] == p[0] && q[1] / 2 == p[1] / 2; });
      const int64_t c = opset < 21 ? p[1] / 2 : p[1];
      return (at(x, p) - s.mean) / std::sqrt(s.variance + 1e-2) * at(scale, {c}) + at(bias, {c});
    });
    EXPECT_EQ(difference(y[0], want, 1e-4), "") << opset;
  }
}

TEST(Norm, InstanceAndMeanVariance) {
  Rng rng(33);
  const ir::Array x = random_array(rng, ir::kF32, {2, 3, 7});
  const ir::Array scale = random_array(rng, ir::kF32, {3}), bias = random_array(rng, ir::kF32, {3});
  const auto y = OpRun("InstanceNormalization", 6).in(x).known(scale).known(bias).run();
  const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
    const Stats s = stats(x, [&](const Place& q) { return q[0] == p[0] && q[1] == p[1]; });
    return (at(x, p) - s.mean) / std::sqrt(s.variance + 1e-5) * at(scale, {p[1]}) +
           at(bias, {p[1]});
  });
  EXPECT_EQ(difference(y[0], want, 1e-4), "");
  const auto z =
      OpRun("MeanVarianceNormalization", 13).in(x).with("axes", std::vector<int64_t>{0, -1}).run();
  const ir::Array flat = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
    const Stats s = stats(x, [&](const Place& q) { return q[1] == p[1]; });
    return (at(x, p) - s.mean) / std::sqrt(s.variance);
  });
  EXPECT_EQ(difference(z[0], flat, 1e-4), "");
}

TEST(Norm, LayerWithBroadcastScale) {
  Rng rng(34);
  const ir::Array x = random_array(rng, ir::kF32, {3, 4, 5});
  const ir::Array scale = random_array(rng, ir::kF32, {5});
  const auto y =
      OpRun("LayerNormalization", 17).in(x).in(scale).with("axis", int64_t{1}).outputs(3).run();
  const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
    const Stats s = stats(x, [&](const Place& q) { return q[0] == p[0]; });
    return (at(x, p) - s.mean) / std::sqrt(s.variance + 1e-5) * at(scale, {p[2]});
  });
  EXPECT_EQ(difference(y[0], want, 1e-4), "");
  EXPECT_EQ(y[1].shape(), (Shape{3, 1, 1}));
  EXPECT_EQ(y[2].shape(), (Shape{3, 1, 1}));
}

TEST(Norm, LpOfAnAxisAndOfZeros) {
  Rng rng(35);
  ir::Array x = random_array(rng, ir::kF32, {4, 3, 5});
  for_each_place({4}, [&](const Place& p) { x.set_double(offset_of(x.shape(), {p[0], 1, 2}), 0); });
  for_each_place({3}, [&](const Place& p) { x.set_double(offset_of(x.shape(), {0, p[0], 2}), 0); });
  for (const int64_t p : {1, 2}) {
    const auto y = OpRun("LpNormalization", 1).in(x).with("axis", int64_t{1}).with("p", p).run();
    const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& q) {
      double sum = 0;
      for (int64_t c = 0; c < 3; ++c)
        sum += std::pow(std::abs(at(x, {q[0], c, q[2]})), static_cast<double>(p));
      return sum == 0 ? 0 : at(x, q) / std::pow(sum, 1 / static_cast<double>(p));
    });
    EXPECT_EQ(difference(y[0], want, 1e-5), "") << p;
  }
}

TEST(Norm, LocalResponse) {
  Rng rng(36);
  const ir::Array x = random_array(rng, ir::kF32, {1, 5, 2, 2});
  for (const int64_t size : {1, 2, 3, 4, 9}) {
    const auto y = OpRun("LRN", 13)
                       .in(x)
                       .with("size", size)
                       .with("alpha", 0.5)
                       .with("beta", 0.6)
                       .with("bias", 2.0)
                       .run();
    const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
      double sum = 0;
      for (int64_t c = p[1] - (size - 1) / 2; c <= p[1] + size / 2; ++c) {
        if (c >= 0 && c < 5) sum += at(x, {0, c, p[2], p[3]}) * at(x, {0, c, p[2], p[3]});
      }
      return at(x, p) / std::pow(2 + 0.5 / static_cast<double>(size) * sum, 0.6);
    });
    EXPECT_EQ(difference(y[0], want, 1e-5), "") << size;
  }
}

// ---- products ---------------------------------------------------------------------------------

TEST(MatMul, VectorsAndBatches) {
  Rng rng(41);
  struct Case {
    Shape a, b, out;
  };
  const std::vector<Case> cases = {
      {{3}, {3}, {}},           {{3}, {3, 2}, {2}},       {{4, 3}, {3}, {4}},
      {{3}, {5, 3, 2}, {5, 2}}, {{5, 4, 3}, {3}, {5, 4}}, {{2, 1, 4, 3}, {7, 3, 5}, {2, 7, 4, 5}},
      {{1, 3}, {3, 1}, {1, 1}}};
  for (const Case& k : cases) {
    const ir::Array a = random_array(rng, ir::kF32, k.a), b = random_array(rng, ir::kF32, k.b);
    const auto y = OpRun("MatMul", 13).in(a).in(b).run();
    const bool row = k.a.size() == 1, column = k.b.size() == 1;
    const ir::Array want = filled_by(ir::kF32, k.out, [&](const Place& p) {
      Place q = p;
      const int64_t j = column ? 0 : q.back();
      if (!column) q.pop_back();
      const int64_t i = row ? 0 : q.back();
      if (!row) q.pop_back();
      const auto lead = [&](const Shape& s) {
        Place l;
        for (size_t d = 0; d + 2 < s.size(); ++d) {
          const int64_t v = q[q.size() - (s.size() - 2) + d];
          l.push_back(s[d] == 1 ? 0 : v);
        }
        return l;
      };
      double sum = 0;
      for (int64_t c = 0; c < 3; ++c) {
        Place at_a = lead(k.a), at_b = lead(k.b);
        if (!row) at_a.push_back(i);
        at_a.push_back(c);
        at_b.push_back(c);
        if (!column) at_b.push_back(j);
        sum += at(a, at_a) * at(b, at_b);
      }
      return sum;
    });
    EXPECT_EQ(difference(y[0], want, 1e-5), "") << k.a.size() << " by " << k.b.size();
  }
}

// Every letter is a loop.
ir::Array einsum(const std::string& a, const std::string& b, const std::string& out,
                 const ir::Array& x, const ir::Array& y) {
  std::map<char, int64_t> extent;
  for (size_t i = 0; i < a.size(); ++i) extent[a[i]] = x.shape()[i];
  for (size_t i = 0; i < b.size(); ++i) extent[b[i]] = y.shape()[i];
  std::string letters;
  Shape loops, shape;
  for (const auto& [letter, e] : extent) {
    letters.push_back(letter);
    loops.push_back(e);
  }
  for (const char c : out) shape.push_back(extent[c]);
  ir::Array result(ir::kF32, shape);
  for_each_place(loops, [&](const Place& p) {
    const auto pick = [&](const std::string& term) {
      Place q;
      for (const char c : term) q.push_back(p[letters.find(c)]);
      return q;
    };
    const int64_t i = offset_of(shape, pick(out));
    result.set_double(i, result.get_double(i) + at(x, pick(a)) * at(y, pick(b)));
  });
  return result;
}

TEST(Einsum, ContractionsAndOthers) {
  Rng rng(42);
  const std::map<char, int64_t> extent = {{'b', 2}, {'h', 3}, {'i', 4}, {'j', 5}, {'k', 3}};
  struct Case {
    std::string a, b, out;
  };
  for (const Case& c : {Case{"bij", "bjk", "bik"},
                        {"bhij", "bhkj", "bhik"},
                        {"ij", "jk", "ki"},
                        {"bij", "bjh", "ibh"},
                        {"i", "j", "ij"},
                        {"ij", "ij", ""},
                        {"ij", "jk", "i"},
                        {"bbi", "i", "b"},
                        {"ij", "ij", "ij"},
                        {"bihj", "jk", "bkih"}}) {
    const auto make = [&](const std::string& term) {
      Shape s;
      for (const char l : term) s.push_back(extent.at(l));
      return random_array(rng, ir::kF32, s);
    };
    const ir::Array x = make(c.a), y = make(c.b);
    const std::string equation = c.a + ", " + c.b + "->" + c.out;
    const auto got = OpRun("Einsum", 12).in(x).in(y).with("equation", equation).run();
    EXPECT_EQ(difference(got[0], einsum(c.a, c.b, c.out, x, y), 1e-4), "") << equation;
  }
  const ir::Array x = random_array(rng, ir::kF32, {2, 3, 4, 5}),
                  y = random_array(rng, ir::kF32, {3, 5, 2});
  const auto dots =
      OpRun("Einsum", 12).in(x).in(y).with("equation", std::string("...ij,...jk->...ik")).run();
  EXPECT_EQ(difference(dots[0], einsum("abij", "bjk", "abik", x, y), 1e-4), "");
  for (const char* bad :
       {"ij,jk->il", "ij->ij", "i,jk->ik", "ij,jk->ii", "i?,jk->ik", "ij,ik->j"}) {
    EXPECT_THROW(OpRun("Einsum", 12)
                     .in(random_array(rng, ir::kF32, {2, 3}))
                     .in(random_array(rng, ir::kF32, {3, 2}))
                     .with("equation", std::string(bad))
                     .run(),
                 UserError)
        << bad;
  }
}

TEST(Det, OfMatricesThatNeedPivots) {
  ir::Array x(ir::kF32, {3, 3, 3});
  const std::vector<double> v = {0, 2, 1, 3, 0,      4, 1, 5, 0, /**/ 1, 2, 3, 2, 4,
                                 6, 1, 0, 1, /**/ 2, 0, 0, 0, 0, 3,      0, 4, 0};
  for (size_t i = 0; i < v.size(); ++i) x.set_double(static_cast<int64_t>(i), v[i]);
  const auto y = OpRun("Det", 11).in(x).run();
  EXPECT_NEAR(y[0].get_double(0), 23, 1e-4);
  EXPECT_NEAR(y[0].get_double(1), 0, 1e-5);
  EXPECT_NEAR(y[0].get_double(2), -24, 1e-4);
}

// ---- resizing ---------------------------------------------------------------------------------

ir::Array counting(const Shape& shape) {
  return filled_by(ir::kF32, shape,
                   [&](const Place& p) { return static_cast<double>(offset_of(shape, p) + 1); });
}

TEST(Resize, AntialiasWidensTheKernel) {
  const auto y = OpRun("Resize", 18)
                     .in(counting({1, 1, 4, 4}))
                     .absent()
                     .known(floats({1, 1, 0.6, 0.6}))
                     .with("mode", std::string("linear"))
                     .with("antialias", int64_t{1})
                     .run();
  ASSERT_EQ(y[0].shape(), (Shape{1, 1, 2, 2}));
  const std::vector<double> want = {2.875, 4.5, 9.375, 11};  // as in the standard's own example
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(y[0].get_double(i), want[static_cast<size_t>(i)], 1e-5);
}

TEST(Resize, AxesAndPolicies) {
  const ir::Array x = counting({1, 1, 2, 4});
  const auto run = [&](const std::string& policy) {
    return OpRun("Resize", 18)
        .in(x)
        .absent()
        .absent()
        .known(ints({7, 8}))
        .with("axes", std::vector<int64_t>{2, -1})
        .with("keep_aspect_ratio_policy", policy)
        .run()[0]
        .shape();
  };
  EXPECT_EQ(run("stretch"), (Shape{1, 1, 7, 8}));
  EXPECT_EQ(run("not_larger"), (Shape{1, 1, 4, 8}));
  EXPECT_EQ(run("not_smaller"), (Shape{1, 1, 7, 14}));
}

TEST(Resize, NearestRepeatsElements) {
  const ir::Array x = counting({1, 2, 3, 2});
  const auto y = OpRun("Resize", 10).in(x).known(floats({1, 1, 2, 3})).run();
  const ir::Array want = filled_by(ir::kF32, {1, 2, 6, 6}, [&](const Place& p) {
    return at(x, {0, p[1], p[2] / 2, p[3] / 3});
  });
  EXPECT_EQ(difference(y[0], want), "");
}

TEST(Resize, NonsenseIsRefused) {
  const ir::Array x = counting({1, 1, 2, 4});
  const auto scaled = [&](double s) {
    return OpRun("Resize", 13).in(x).absent().known(floats({1, 1, s, 1}));
  };
  for (const double s :
       {0.0, -1.0, 1e30, 1e-30, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(scaled(s).run(), UserError) << s;
  }
  EXPECT_THROW(OpRun("Resize", 13).in(x).absent().absent().known(ints({1, 1, 0, 4})).run(),
               UserError);
  EXPECT_THROW(OpRun("Resize", 13).in(x).absent().absent().in(ints({1, 1, 4, 4})).run(), UserError);
  EXPECT_THROW(OpRun("Resize", 13).in(x).run(), UserError);
}

}  // namespace
}  // namespace tenon::onnx
