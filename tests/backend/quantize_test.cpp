// SPDX-License-Identifier: Apache-2.0
// Real numbers to 8-bit integers: as defined, with infinities, NaN and halves between two integers.
#include <cmath>
#include <limits>

#include "backend/element_wise.h"
#include "backend/harness.h"
#include "backend/llvm/reciprocal.h"

namespace tenon::backend {
namespace {

using ir::Expr;

Expr quantized(const Expr& x, double scale, double zero, ir::DType t) {
  Expr whole = ir::call(ir::Intrinsic::kRound, {x / ir::make_float(x.dtype(), scale)});
  if (zero != 0) whole = whole + ir::make_float(x.dtype(), zero);
  const auto bound = [&](int64_t v) { return ir::make_float(x.dtype(), static_cast<double>(v)); };
  return ir::cast(t, ir::min(ir::max(whole, bound(ir::lowest_int(t))), bound(ir::highest_int(t))));
}

// Numbers at which the result steps, beside them, and what is no number.
ir::Array numbers(Rng& rng, float scale) {
  ir::Array a(ir::kF32, {ElementWise::kElements});
  const float infinity = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < a.elements(); ++i) {
    auto x = static_cast<float>((static_cast<double>(rng.between(-300, 300)) + 0.5) *
                                static_cast<double>(scale));
    for (int64_t n = rng.between(0, 2); n > 0; --n) x = std::nextafter(x, infinity);
    for (int64_t n = rng.between(0, 2); n > 0; --n) x = std::nextafter(x, -infinity);
    a.set_double(i, static_cast<double>(x));
  }
  const double special[] = {std::nan(""), infinity, -infinity, 3e38, -3e38, 0, -0.0, 1e-40};
  for (size_t i = 0; i < std::size(special); ++i) a.set_double(static_cast<int64_t>(i), special[i]);
  return a;
}

TEST(Quantize, AsDefinedForAllLanes) {
  Rng rng(20261117);
  for (int i = 0; i < 12; ++i) {
    const auto scale = static_cast<float>(std::exp2(rng.unit() * 20 - 14));
    SCOPED_TRACE(scale);
    ElementWise f("quantize");
    f.input(ir::kF32);
    for (const ir::DType t : {ir::kU8, ir::kI8}) {
      const auto zero = static_cast<double>(rng.between(ir::lowest_int(t), ir::highest_int(t)));
      for (const int lanes : {1, 3, 4, 8, 16, 24}) {
        for (const double z : {0.0, zero}) {
          f.output(t, lanes,
                   [&](auto& in) { return quantized(in[0], static_cast<double>(scale), z, t); });
        }
      }
    }
    std::vector<ir::Array> args = random_args(f.get(), rng);
    args[0] = numbers(rng, scale);
    expect_same(f.get(), args);
  }
}

// The factor in two parts gives the integers of the division, wherever it is taken.
TEST(Quantize, ReciprocalsRoundAsDivisionsDo) {
  Rng rng(7);
  int taken = 0;
  for (int i = 0; i < 200; ++i) {
    const auto scale = static_cast<float>(std::exp2(rng.unit() * 40 - 20));
    const auto r = llvm_cpu::reciprocal_of(scale, -255, 255);
    if (!r) continue;
    ++taken;
    for (int n = 0; n < 500; ++n) {
      const auto x = static_cast<float>((rng.unit() * 500 - 250) * static_cast<double>(scale));
      ASSERT_EQ(std::nearbyint(x / scale), std::nearbyint(std::fma(x, r->high, x * r->low)))
          << x << " / " << scale;
    }
  }
  EXPECT_GT(taken, 150);
  EXPECT_FALSE(llvm_cpu::reciprocal_of(0, 0, 255));
  EXPECT_FALSE(llvm_cpu::reciprocal_of(-1, 0, 255));
  EXPECT_FALSE(llvm_cpu::reciprocal_of(1e-38F, 0, 255));
}

}  // namespace
}  // namespace tenon::backend
