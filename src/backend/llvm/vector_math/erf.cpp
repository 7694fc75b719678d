// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/vector_math/coefficients.h"
#include "backend/llvm/vector_math/exponent.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

// An odd rational function up to 3.93, from where erf rounds to 1; beyond, it grows like x and the
// outer clamp makes it exactly 1. Longer polynomials without the division were slower.
Num erf32(Num x) {
  const Num u = min(0x1.eep+3, x * x);
  const Num y = fma(x * u, poly(u, kErf32Num), x) / poly(u, kErf32Den);
  return max(-1.0, min(1.0, y));
}

// Below 1: x P(x^2). Above: 1 - e^(-x^2) G(x), whose second term is so small that plain arithmetic
// suffices; at 6 the result is 1.
Num erf64(Num x) {
  const Num a = min(6.0, abs(x));
  const Num square = a * a;
  const Num small = a * poly(square, kErfSmall64);
  const ExpReduced reduced = reduce_exp(-square, a.e->bias());
  const Num decay = fma(expm1_over_r(reduced.r), reduced.r, 1.0) * pow2(reduced.t);
  const Num large = 1.0 - decay * poly(a - 1.75, kErfLarge64);
  return with_sign_of(select(a < 1.0, small, large), x);
}

}  // namespace

Num emit_erf(Num x) { return x.e->is_f64() ? erf64(x) : erf32(x); }

}  // namespace tenon::backend::llvm_cpu::vector_math
