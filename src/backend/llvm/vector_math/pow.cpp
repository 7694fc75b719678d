// SPDX-License-Identifier: Apache-2.0
// |x|^y = e^(y log |x|). The product is as large as 745, so the logarithm needs ten bits more than the
// result: f32 takes them from double, f64 from double-double.
#include "backend/llvm/vector_math/coefficients.h"
#include "backend/llvm/vector_math/double_double.h"
#include "backend/llvm/vector_math/exponent.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// a > 0 and finite, given as f32; subnormal floats are normal doubles.
Num magnitude32(Num a, Num y) {
  const Emitter& e = *a.e;
  const Emitter wide = e.widened();
  const LogSplit split = split_exponent(widen(wide, a));
  const Num s = split.f / (split.f + 2.0);
  const Num z = s * s;
  const Num ln = s * fma(z, poly(z, kLogPow32), 2.0);
  const Num log2 = fma(ln, kLog2E, split.e);
  const Num p = max(-1000.0, min(1000.0, widen(wide, y) * log2));
  constexpr double kMagic = 0x1.8p52 + 1023;
  const Num t = p + kMagic;
  const Num power = poly(p - (t - kMagic), kExp2Pow32) * pow2(bits(t));
  return narrow(e, power);
}

// ln(1 + f): 2 atanh(s), s = f / (2 + f), the first two terms of the series in double-double.
Pair log1p_pair(Num f) {
  const Pair d = fast_two_sum(f.e->num(2.0), f);
  const Num inverse = 1.0 / d.hi;
  const Num s_hi = f * inverse;
  const Pair back = two_product(s_hi, d.hi);
  const Num rest = fma(-s_hi, d.lo, (f - back.hi) - back.lo);
  const Pair s = {s_hi, rest * inverse};
  const Pair square = two_product(s.hi, s.hi);
  const Pair z = {square.hi, fma(s.hi * 2.0, s.lo, square.lo)};
  const Num higher = fma(z.hi, poly(z.hi, kLogPow64), 0x1.5555555555555p-56);
  const Pair third = fast_two_sum(f.e->num(0x1.5555555555555p-2), higher);  // 1/3 + z/5 + ...
  const Pair t = multiply(z, third);
  const Pair one = fast_two_sum(f.e->num(1.0), t.hi);
  const Pair series = {one.hi, one.lo + t.lo};
  return multiply({s.hi * 2.0, s.lo * 2.0}, series);
}

// a > 0 and finite.
Pair log_pair(Num a) {
  const Emitter& e = *a.e;
  const Mask tiny = a < e.min_normal();
  const LogSplit split = split_exponent(select(tiny, a * 0x1p52, a));
  const Num exponent = split.e - select(tiny, 52.0, 0.0);
  const Ln2 ln2 = ln2_parts(e);
  const Pair m = log1p_pair(split.f);
  const Pair sum = fast_two_sum(exponent * ln2.hi, m.hi);
  return fast_two_sum(sum.hi, sum.lo + fma(exponent, ln2.lo, m.lo));
}

Num magnitude64(Num a, Num y) {
  const Pair log = log_pair(a);
  // a larger y over- or underflows for every a but 1, and must not overflow inside two_product
  const Num bounded = max(-0x1p66, min(0x1p66, y));
  const Pair product = two_product(bounded, log.hi);
  const Num hi = max(-750.0, min(710.0, product.hi));
  const ExpReduced reduced = reduce_exp(hi, 2 * a.e->bias());
  const Num clamped_lo = max(-1.0, min(1.0, fma(bounded, log.lo, product.lo)));
  const Num r = reduced.r + select(product.hi == hi, clamped_lo, a.e->num(0.0));
  return scale_by(fma(expm1_over_r(r), r, 1.0), reduced.t);
}

}  // namespace

// The special cases of C99 (F.9.4.4).
Num emit_pow(Num x, Num y) {
  const Emitter& e = *x.e;
  const Num a = abs(x);
  const Num infinity = e.infinity();
  const Mask zero = a == 0.0;
  const Mask extreme = zero | (a == infinity);
  const Num regular = e.is_f64() ? magnitude64(a, y) : magnitude32(a, y);
  const Num limit = select(zero ^ (y > 0.0), infinity, e.num(0.0));
  const Num magnitude = select(extreme, limit, regular);

  const Mask integral = emit_trunc(y) == y;
  const Num half = y * 0.5;
  const Mask odd = integral & !(emit_trunc(half) == half);
  const Num flipped = as_num(bits(magnitude) ^ (bits(x) & e.sign_bit()));
  const Num signed_value = select(odd, flipped, magnitude);

  const Mask undefined = (x < 0.0) & (a < infinity) & !integral;
  const Num value = select(undefined | unordered(x, y), e.nan(), signed_value);
  const Mask one = (y == 0.0) | (x == 1.0) | ((a == 1.0) & (abs(y) == infinity));
  return select(one, e.num(1.0), value);
}

}  // namespace tenon::backend::llvm_cpu::vector_math
