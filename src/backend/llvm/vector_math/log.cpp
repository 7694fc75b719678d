// SPDX-License-Identifier: Apache-2.0
// log and the inverse hyperbolic functions.
#include "backend/llvm/vector_math/coefficients.h"
#include "backend/llvm/vector_math/exponent.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

constexpr double kTwoLn2 = 0x1.62e42fefa39efp+0;

// ln(1 + u) for u >= 0, u < inf. What 1 + u lost in rounding goes back into f.
Num log1p_of(Num u) {
  const Emitter& e = *u.e;
  const Num w = u + 1.0;
  const Num lost = u - (w - 1.0);
  const LogSplit split = split_exponent(w);
  const Num inverse = pow2(e.integer(2 * static_cast<uint64_t>(e.bias())) - split.biased);  // 2^-e
  return log_of(split.e, fma(lost, inverse, split.f));
}

// ln(1 + u) + the logarithm of what `large` took out: where `large`, u is a/2 and stands for
// u' ~ 2a, so that neither a^2 nor 2a can overflow.
Num log1p_or_large(Mask large, Num u, Num a) {
  return log1p_of(select(large, a * 0.5, u)) + select(large, kTwoLn2, 0.0);
}

double large_from(const Emitter& e) { return e.is_f64() ? 0x1p60 : 0x1p28; }

// s = f / (2 + f): log(1+f) = f - (h - s (h + R)), h = f^2/2, R = z P(z), z = s^2, with every small
// term added before the large ones.
Num log_of_f64(Num e, Num f, Ln2 ln2) {
  const Num s = f / (f + 2.0);
  const Num z = s * s;
  const Num h = f * f * 0.5;
  const Num r = z * poly(z, kLog64);
  const Num small = fma(s, h + r, e * ln2.lo);
  return fma(e, ln2.hi, f + (small - h));
}

}  // namespace

// Subtracting sqrt(1/2) from the bit pattern moves the borrow of the exponent to where the mantissa
// passes sqrt(2); adding the bias back keeps the shift unsigned.
LogSplit split_exponent(Num x) {
  const Emitter& e = *x.e;
  const unsigned m = e.mantissa_bits();
  const uint64_t sqrt_half = e.is_f64() ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  const uint64_t one = static_cast<uint64_t>(e.bias()) << m;
  const Int shifted = bits(x) + e.integer(one - sqrt_half);
  const Int biased = shifted >> m;
  const Int mantissa = (shifted & ((uint64_t{1} << m) - 1)) + e.integer(sqrt_half);
  // or-ing an integer into the low bits of 2^m adds it: a conversion without a conversion instruction
  const double magic = e.is_f64() ? 0x1p52 : 0x1p23;
  const Num exponent =
      as_num(biased | (static_cast<uint64_t>(e.bias() + static_cast<int>(m)) << m)) -
      (magic + e.bias());
  return {exponent, as_num(mantissa) - 1.0, biased};
}

Num log_of(Num e, Num f) {
  const Ln2 ln2 = ln2_parts(*f.e);
  if (f.e->is_f64()) {
    return log_of_f64(e, f, ln2);
  }
  const Num tail = fma(poly(f, kLog32), f, -0.5) * (f * f);
  return fma(e, ln2.hi, f + fma(e, ln2.lo, tail));
}

Num emit_log(Num x) {
  const Emitter& e = *x.e;
  const Mask tiny = x < e.min_normal();
  const double up = e.is_f64() ? 0x1p52 : 0x1p23;
  const LogSplit split = split_exponent(select(tiny, x * up, x));
  const Num exponent = split.e - select(tiny, static_cast<double>(e.mantissa_bits()), 0.0);
  const Num finite = log_of(exponent, split.f);
  const Num upper = select(x < e.infinity(), finite, x);  // inf and NaN are their own logarithm
  return select(x <= 0.0, select(x == 0.0, -e.infinity(), e.nan()), upper);
}

// asinh(a) = log1p(a + a^2 / (1 + sqrt(a^2 + 1)))
Num emit_asinh(Num x) {
  const Emitter& e = *x.e;
  const Num a = abs(x);
  const Mask large = a > large_from(e);
  const Num square = a * a;
  const Num u = a + square / (sqrt(square + 1.0) + 1.0);
  const Num y = log1p_or_large(large, u, a);
  return with_sign_of(select(a < e.infinity(), y, a), x);
}

// acosh(x) = log1p(t + sqrt(t (t + 2))), t = x - 1
Num emit_acosh(Num x) {
  const Emitter& e = *x.e;
  const Mask large = x > large_from(e);
  const Num t = x - 1.0;
  const Num y = log1p_or_large(large, t + sqrt(t * (t + 2.0)), x);
  return select(x < 1.0, e.nan(), select(x < e.infinity(), y, x));
}

// atanh(a) = log1p(2a / (1 - a)) / 2
Num emit_atanh(Num x) {
  const Emitter& e = *x.e;
  const Num a = abs(x);
  const Num y = log1p_of((a * 2.0) / (1.0 - a)) * 0.5;
  const Num edge = select(a == 1.0, e.infinity(), e.nan());
  return with_sign_of(select(a < 1.0, y, edge), x);
}

}  // namespace tenon::backend::llvm_cpu::vector_math
