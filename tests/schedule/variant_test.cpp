// SPDX-License-Identifier: Apache-2.0
// Convolutions of random parameters by every algorithm, against the definition.
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
  bool eligible = false;  // some trailing dimension has 3 taps, stride 1, dilation 1
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
    p.stride.push_back(rng.chance(0.8) ? 1 : rng.between(2, 3));
    p.dilation.push_back(rng.chance(0.9) ? 1 : 2);
    p.pad_before.push_back(rng.between(0, 1));
    p.pad_after.push_back(rng.between(0, 1));
    out.eligible = w.back() == 3 && p.stride.back() == 1 && p.dilation.back() == 1;
  }
  const auto y = te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
  b.output(rng.chance(0.5) ? te::relu(b, "R", y) : y);
  out.dag = std::make_shared<const te::ComputeDag>(b.finish());
  return out;
}

// Random floats; the largest error relative to the largest value.
double error_of(const State& s, Rng& rng) {
  std::vector<ir::Array> inputs;
  for (const te::Input& in : s.dag().inputs) {
    ir::Array a(in.tensor.dtype(), in.tensor.shape());
    for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, 2 * rng.unit() - 1);
    inputs.push_back(std::move(a));
  }
  const auto f = lower::lower(s);
  EXPECT_TRUE(f) << render_illegal(s, f.illegal());
  const auto got = lower::interpret(s, *f, inputs);
  const auto want = te::evaluate(s.dag(), inputs);
  double largest = 0, error = 0;
  for (int64_t i = 0; i < want[0].elements(); ++i) {
    largest = std::max(largest, std::abs(want[0].get_double(i)));
    error = std::max(error, std::abs(want[0].get_double(i) - got[0].get_double(i)));
  }
  return largest > 0 ? error / largest : error;
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
      SCOPED_TRACE(fmt::format("{} {}\n{}", i, row.name, te::to_text(*drawn.dag)));
      const Step step = Variant{{initial.find("C")}, row.algorithm};
      EXPECT_EQ(bool(check(step, initial)), drawn.eligible);
      if (!drawn.eligible) continue;
      const auto s = replay(initial, {step});
      ASSERT_TRUE(s);
      EXPECT_EQ(s->growth(), row.growth);
      EXPECT_LE(error_of(*s, rng), row.growth * te::tolerance(*drawn.dag));
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
    if (!drawn.eligible) continue;
    const State initial(drawn.dag, std::make_shared<const target::Target>(target::host_target()));
    const auto s = replay(initial, {Step(Variant{{initial.find("C")}, Algorithm::kWinograd2})});
    ASSERT_TRUE(s);
    const auto inputs = fuzz::random_inputs(*drawn.dag, rng);
    const auto f = lower::lower(*s);
    ASSERT_TRUE(f);
    EXPECT_EQ(fuzz::compare(te::evaluate(*drawn.dag, inputs), lower::interpret(*s, *f, inputs),
                            *drawn.dag),
              "");
  }
}

TEST(Variant, MatricesFilter) {
  for (const AlgorithmRow& row : algorithms()) {
    const WinogradMatrices& m = winograd_matrices(row.algorithm);
    const size_t points = m.b.size();
    ASSERT_EQ(points, static_cast<size_t>(row.tile) + 2);
    // Unit filters and unit inputs: the whole bilinear map.
    for (size_t tap = 0; tap < 3; ++tap) {
      for (size_t in = 0; in < points; ++in) {
        for (size_t out = 0; out < static_cast<size_t>(row.tile); ++out) {
          double y = 0;
          for (size_t p = 0; p < points; ++p) y += m.a[out][p] * m.g[p][tap] * m.b[p][in];
          EXPECT_NEAR(y, in == out + tap ? 1 : 0, 1e-15) << row.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::schedule
