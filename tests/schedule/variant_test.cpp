// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of random parameters by every algorithm, against the definition.
#include "schedule/primitives/variant.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/random_dag.h"
#include "lower/lower.h"
#include "schedule/scheduled.h"
#include "schedule/trace.h"
#include "te/ops.h"
#include "te/rounding.h"
#include "te/text.h"

namespace tenon::schedule {
namespace {

struct Drawn {
  std::shared_ptr<const te::ComputeDag> dag;
  int64_t stride = 0;  // of the last dimension, where it has 3 taps side by side
  bool eligible(const AlgorithmRow& row) const { return row.stride == stride; }
};

Drawn random_conv(Rng& rng) {
  const auto rank = static_cast<size_t>(rng.between(1, 3));
  te::Builder b;
  std::vector<int64_t> x{rng.between(1, 2), rng.between(1, 3)}, w{rng.between(1, 4), x[1]};
  te::ConvParams p;
  Drawn out;
  for (size_t d = 0; d < rank; ++d) {
    x.push_back(rng.between(5, 11 - 2 * static_cast<int64_t>(rank)));
    w.push_back(rng.chance(0.7) ? 3 : rng.between(1, 2));
    p.stride.push_back(rng.chance(0.6) ? 1 : rng.between(2, 3));
    p.dilation.push_back(rng.chance(0.9) ? 1 : 2);
    p.pad_before.push_back(rng.between(0, 1));
    p.pad_after.push_back(rng.between(0, 1));
    out.stride = w.back() == 3 && p.dilation.back() == 1 ? p.stride.back() : 0;
  }
  const auto y = te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
  b.output(rng.chance(0.5) ? te::relu(b, "R", y) : y);
  out.dag = std::make_shared<const te::ComputeDag>(b.finish());
  return out;
}

// A dense layer, batched or not, weights either way round, or a pointwise convolution; tails everywhere.
std::shared_ptr<const te::ComputeDag> random_product(Rng& rng) {
  te::Builder b;
  const int64_t k = rng.between(2, 9), columns = rng.between(2, 9);
  te::Tensor y;
  if (rng.chance(0.5)) {
    const auto rank = static_cast<size_t>(rng.between(1, 3));
    std::vector<int64_t> x{rng.between(1, 2), k}, w{columns, k};
    te::ConvParams p;
    for (size_t d = 0; d < rank; ++d) {
      x.push_back(rng.between(3, 5));
      w.push_back(1);
      p.stride.push_back(rng.chance(0.7) ? 1 : 2);
      p.pad_before.push_back(rng.chance(0.8) ? 0 : 1);
      p.pad_after.push_back(p.pad_before.back());
      p.dilation.push_back(1);
    }
    y = te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
  } else {
    std::vector<int64_t> x;
    if (rng.chance(0.4)) x.push_back(rng.between(1, 3));
    x.insert(x.end(), {rng.between(2, 9), k});
    const bool transposed = rng.chance(0.5);
    const auto w = transposed ? b.constant("W", ir::kF32, {columns, k})
                              : b.constant("W", ir::kF32, {k, columns});
    y = te::batch_matmul(b, "C", b.input("X", ir::kF32, x), w, false, transposed);
  }
  b.output(rng.chance(0.5) ? te::relu(b, "R", y) : y);
  return std::make_shared<const te::ComputeDag>(b.finish());
}

// Both operands computed or given, batched or not, either of them transposed.
std::shared_ptr<const te::ComputeDag> random_matmul(Rng& rng) {
  te::Builder b;
  const int64_t m = rng.between(2, 7), n = rng.between(2, 7), k = rng.between(1, 9);
  const bool turned_x = rng.chance(0.5), turned_w = rng.chance(0.5);
  std::vector<int64_t> x = turned_x ? std::vector{k, m} : std::vector{m, k};
  std::vector<int64_t> w = turned_w ? std::vector{n, k} : std::vector{k, n};
  const int64_t batch = rng.between(1, 3);
  const bool both = rng.chance(0.5);
  if (both || rng.chance(0.3)) x.insert(x.begin(), batch);
  if (both) w.insert(w.begin(), batch);
  const te::Tensor first = b.input("X", ir::kF32, x);
  const te::Tensor second =
      rng.chance(0.3) ? b.constant("W", ir::kF32, w) : b.input("W", ir::kF32, w);
  const te::Tensor y = te::batch_matmul(b, "C", rng.chance(0.3) ? te::relu(b, "P", first) : first,
                                        second, turned_x, turned_w);
  b.output(rng.chance(0.5) ? te::relu(b, "R", y) : y);
  return std::make_shared<const te::ComputeDag>(b.finish());
}

std::vector<ir::Array> random_floats(const te::ComputeDag& dag, Rng& rng) {
  std::vector<ir::Array> inputs;
  for (const te::Input& in : dag.inputs) {
    ir::Array a(in.tensor.dtype(), in.tensor.shape());
    for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, 2 * rng.unit() - 1);
    inputs.push_back(std::move(a));
  }
  return inputs;
}

ir::Array run(const State& s, const std::vector<ir::Array>& inputs) {
  const auto f = lower::lower(s);
  EXPECT_TRUE(f) << render_illegal(s, f.illegal());
  return lower::interpret(s, *f, inputs)[0];
}

// Random floats; the largest error relative to the largest value.
double error_of(const State& s, Rng& rng) {
  const auto inputs = random_floats(s.dag(), rng);
  const ir::Array got = run(s, inputs);
  const auto want = te::evaluate(s.dag(), inputs);
  double largest = 0, error = 0;
  for (int64_t i = 0; i < want[0].elements(); ++i) {
    largest = std::max(largest, std::abs(want[0].get_double(i)));
    error = std::max(error, std::abs(want[0].get_double(i) - got.get_double(i)));
  }
  return largest > 0 ? error / largest : error;
}

// The largest error of a product of two matrices against its value in double.
double rounding_of(const State& s, const std::vector<ir::Array>& inputs) {
  const ir::Array got = run(s, inputs);
  const int64_t rows = inputs[0].shape()[0], steps = inputs[0].shape()[1];
  const int64_t columns = inputs[1].shape()[1];
  double error = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < steps; ++k)
        sum += inputs[0].get_double(i * steps + k) * inputs[1].get_double(k * columns + j);
      error = std::max(error, std::abs(sum - got.get_double(i * columns + j)));
    }
  }
  return error;
}

TEST(Variant, RandomConvolutionsStayWithinTheStatedError) {
  const uint64_t seed = 2026;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  int taken = 0;
  for (uint64_t i = 0; i < 120; ++i) {
    Rng rng(seed + i);
    const Drawn drawn = random_conv(rng);
    const State initial(drawn.dag, std::make_shared<const target::Target>(target::host_target()));
    for (const AlgorithmRow& row : algorithms()) {
      if (!is_winograd(row.algorithm)) continue;
      SCOPED_TRACE(fmt::format("{} {}\n{}", i, row.name, te::to_text(*drawn.dag)));
      const Step step = Variant{{initial.find("C")}, row.algorithm};
      EXPECT_EQ(bool(check(step, initial)), drawn.eligible(row));
      if (!drawn.eligible(row)) continue;
      const auto s = replay(initial, {step});
      ASSERT_TRUE(s);
      EXPECT_EQ(s->error_factor(), row.error_factor);
      EXPECT_LE(error_of(*s, rng), row.error_factor * te::tolerance(*drawn.dag));
      ++taken;
    }
  }
  EXPECT_GT(taken, 60);
}

// Whole numbers and quarters: nothing is rounded.
TEST(Variant, TilesOfTwoAreExactOnWholeNumbers) {
  for (uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    Rng rng(77 + i);
    const Drawn drawn = random_conv(rng);
    if (drawn.stride != 1 && drawn.stride != 2) continue;
    const State initial(drawn.dag, std::make_shared<const target::Target>(target::host_target()));
    const auto s =
        replay(initial,
               {Step(Variant{{initial.find("C")},
                             drawn.stride == 1 ? Algorithm::kWinograd2 : Algorithm::kPolyphase2})});
    ASSERT_TRUE(s);
    const auto inputs = fuzz::random_inputs(*drawn.dag, rng);
    const auto f = lower::lower(*s);
    ASSERT_TRUE(f);
    EXPECT_EQ(fuzz::compare(te::evaluate(*drawn.dag, inputs), lower::interpret(*s, *f, inputs),
                            *drawn.dag),
              "");
  }
}

State initial_of(const std::shared_ptr<const te::ComputeDag>& dag) {
  return State(dag, std::make_shared<const target::Target>(target::host_target()));
}

TEST(Variant, RandomProductsStayWithinTheStatedError) {
  const uint64_t seed = 1969;
  const AlgorithmRow& row = row_of(Algorithm::kStrassen);
  for (uint64_t i = 0; i < 200; ++i) {
    Rng rng(seed + i);
    const auto dag = random_product(rng);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed + i, te::to_text(*dag)));
    const State initial = initial_of(dag);
    const auto s = replay(initial, {Step(Variant{{initial.find("C")}, row.algorithm})});
    ASSERT_TRUE(s) << render_illegal(initial, s.illegal());
    EXPECT_EQ(s->error_factor(), row.error_factor);
    EXPECT_LE(error_of(*s, rng), row.error_factor * te::tolerance(*dag));
  }
}

// Sums of small whole numbers are not rounded.
TEST(Variant, QuartersAreExactOnWholeNumbers) {
  for (uint64_t i = 0; i < 60; ++i) {
    Rng rng(354 + i);
    const auto dag = random_product(rng);
    SCOPED_TRACE(fmt::format("seed {}\n{}", 354 + i, te::to_text(*dag)));
    const State initial = initial_of(dag);
    const auto s = replay(initial, {Step(Variant{{initial.find("C")}, Algorithm::kStrassen})});
    ASSERT_TRUE(s);
    const auto inputs = fuzz::random_inputs(*dag, rng);
    const auto f = lower::lower(*s);
    ASSERT_TRUE(f);
    EXPECT_EQ(fuzz::compare(te::evaluate(*dag, inputs), lower::interpret(*s, *f, inputs), *dag),
              "");
  }
}

// The error of a long sum, against its value in double: what strict accuracy allows is 4 times the definition's.
TEST(Variant, LongSumsByQuartersRoundAboutAsWell) {
  const te::ComputeDag dag = te::parse(
      "input X: f32[24, 768]\nconst W: f32[768, 24]\n"
      "C[i: 24, j: 24] = sum(k: 768) X[i, k] * W[k, j]\noutput C\n");
  const State initial = initial_of(std::make_shared<const te::ComputeDag>(dag));
  const auto s = replay(initial, {Step(Variant{{initial.find("C")}, Algorithm::kStrassen})});
  ASSERT_TRUE(s);
  double worst = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng(seed);
    const auto inputs = random_floats(dag, rng);
    const double direct = rounding_of(initial, inputs), quarters = rounding_of(*s, inputs);
    worst = std::max(worst, quarters / direct);
  }
  EXPECT_LE(worst, row_of(Algorithm::kStrassen).error_factor);
}

// What the matrices are read through is computed for all of them, where it is read, or inside of the
// product. Whole numbers: the order of sums does not matter.
void expect_gemm(const std::shared_ptr<const te::ComputeDag>& dag, const char* target, Rng& rng) {
  SCOPED_TRACE(target);
  const State initial(dag, std::make_shared<const target::Target>(target::parse_target(target)));
  auto s = replay(initial, {Step(Variant{{initial.find("C")}, Algorithm::kGemm})});
  ASSERT_TRUE(s) << render_illegal(initial, s.illegal());
  EXPECT_EQ(s->error_factor(), 1);
  const StageRef product{s->find("C.g")};
  ASSERT_GE(product.id, 0);
  for (const char* operand : {"C.x", "C.y"}) {
    const StageRef stage{s->find(operand)};
    if (stage.id < 0) continue;
    const LoopRef sum{s->stage(product.id).leaves.back()};
    const Step steps[] = {ComputeRoot{stage}, ComputeInline{stage}, ComputeAt{stage, product, sum}};
    const Step& step = steps[rng.between(0, 2)];
    ASSERT_TRUE(check(step, *s));
    schedule::apply(step, s.value());
  }
  const auto inputs = fuzz::random_inputs(*dag, rng);
  const auto f = lower::lower(*s);
  ASSERT_TRUE(f) << render_illegal(*s, f.illegal());
  EXPECT_EQ(fuzz::compare(te::evaluate(*dag, inputs), lower::interpret(*s, *f, inputs), *dag), "");
}

TEST(Variant, RandomSumsAreProductsOfMatrices) {
  for (uint64_t i = 0; i < 120; ++i) {
    Rng rng(4100 + i);
    const auto dag = i % 3 == 0   ? random_conv(rng).dag
                     : i % 3 == 1 ? random_product(rng)
                                  : random_matmul(rng);
    SCOPED_TRACE(fmt::format("seed {}\n{}", 4100 + i, te::to_text(*dag)));
    const State initial = initial_of(dag);
    const StageId c = initial.find("C");
    const bool one_filter = i % 3 == 0 && initial.stage(c).op->axes[1].extent == 1;
    const Step step = Variant{{c}, Algorithm::kGemm};
    EXPECT_EQ(bool(check(step, initial)), !one_filter);
    if (one_filter) continue;
    for (const char* target : {"x86-64-v3", "cuda simt"}) expect_gemm(dag, target, rng);
  }
}

TEST(Variant, MatricesTooLargeToStoreAreNotMade) {
  const State initial = initial_of(std::make_shared<const te::ComputeDag>(te::parse(
      "input X: f32[1, 2097152]\nconst W: f32[2, 1, 1048576]\n"
      "C[k: 2, x: 1048577] = sum(c: 1, r: 1048576) X[c, x + r] * W[k, c, r]\noutput C\n")));
  EXPECT_FALSE(check(Step(Variant{{initial.find("C")}, Algorithm::kGemm}), initial));
}

TEST(Variant, MatricesMultiply) {
  const StrassenMatrices& m = strassen_matrices();
  // Unit quarters: the whole bilinear map.
  for (size_t a = 0; a < 4; ++a) {
    for (size_t w = 0; w < 4; ++w) {
      for (size_t c = 0; c < 4; ++c) {
        double sum = 0;
        for (size_t p = 0; p < m.a.size(); ++p) sum += m.c[c][p] * m.a[p][a] * m.w[p][w];
        const bool meet = a % 2 == w / 2 && c / 2 == a / 2 && c % 2 == w % 2;
        EXPECT_EQ(sum, meet ? 1 : 0) << a << " " << w << " " << c;
      }
    }
  }
}

TEST(Variant, MatricesFilter) {
  for (const AlgorithmRow& row : algorithms()) {
    if (!is_winograd(row.algorithm)) continue;
    const WinogradMatrices& m = winograd_matrices(row.algorithm);
    const size_t points = m.b.size();
    ASSERT_EQ(points, static_cast<size_t>(points_of(row)));
    // Unit filters and unit inputs: the whole bilinear map.
    for (size_t tap = 0; tap < 3; ++tap) {
      for (size_t in = 0; in < points; ++in) {
        for (size_t out = 0; out < static_cast<size_t>(row.tile); ++out) {
          double y = 0;
          for (size_t p = 0; p < points; ++p) y += m.a[out][p] * m.g[p][tap] * m.b[p][in];
          EXPECT_NEAR(y, in == out * static_cast<size_t>(row.stride) + tap ? 1 : 0, 1e-15)
              << row.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::schedule
