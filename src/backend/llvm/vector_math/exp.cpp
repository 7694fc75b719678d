// SPDX-License-Identifier: Apache-2.0
// exp and what is made from it.
#include <cmath>
#include <span>

#include "backend/llvm/vector_math/coefficients.h"
#include "backend/llvm/vector_math/exponent.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// e^x * 2^shift with a single scaling: 0 where 2^n e^r has n <= -126 (-1022). The factor 2^(n-1) and a
// doubled polynomial keep n = 128 (1024) representable.
Num exp_flushing(Num x, int shift) {
  const Emitter& e = *x.e;
  const ExpReduced reduced = reduce_exp(x, e.bias() - 1 + shift);
  const Num p = e.is_f64() ? poly(reduced.r, kExpm1F64, 2.0) : poly(reduced.r, kExp32, 2.0);
  return fma(p, reduced.r, 2.0) * pow2(reduced.t);
}

// The bounds are inside the n that pow2 can take; beyond them the result is inf and 0 anyway.
Num exp32(Num x) { return exp_flushing(max(-87.4, min(89.5, x)), 0); }

Num exp64(Num x) {
  const Emitter& e = *x.e;
  const ExpReduced reduced = reduce_exp(max(-750.0, min(710.0, x)), 2 * e.bias());
  return scale_by(fma(poly(reduced.r, kExpm1F64), reduced.r, 1.0), reduced.t);
}

// (e^a - 1) * 2^shift, a >= 0.
Num scaled_expm1(Num a, int shift) {
  const ExpReduced reduced = reduce_exp(a, a.e->bias() + shift);
  const Num s = pow2(reduced.t);
  // s * r is exact, and ready before the polynomial is
  return fma(s * reduced.r, expm1_over_r(reduced.r), s - std::ldexp(1.0, shift));
}

// 2 (e^-x - 1) / x: the polynomial of the reduced argument with its sign in the coefficients.
Num twice_expm1_over_minus(Num x, std::span<const double> c) {
  double sign = c.size() % 2 == 0 ? 2.0 : -2.0;
  Num sum = x.e->num(sign * c.back());
  for (size_t i = c.size() - 1; i-- > 0;) {
    sign = -sign;
    sum = fma(sum, x, sign * c[i]);
  }
  return sum;
}

// The sign is in the constants: a negation would be moved into the clamp and cost three instructions there. Large
// e^-x becomes infinity and its reciprocal 0; small e^-x may flush to 0, invisible beside the 1.
Num exp_of_minus(Num x) {
  const Emitter& e = *x.e;
  const bool f64 = e.is_f64();
  const Num clamped = max(f64 ? -710.0 : -89.5, min(f64 ? 708.0 : 87.4, x));
  const double magic = (f64 ? 0x1.8p52 : 0x1.8p23) + e.bias() - 1;
  const Num t = fma(clamped, -kLog2E, magic);
  const Num n = t - magic;
  const Ln2 ln2 = ln2_parts(e);
  const Num r = fma(n, ln2.lo, fma(n, ln2.hi, clamped));  // minus the reduced argument
  const Num p = f64 ? twice_expm1_over_minus(r, kExpm1F64) : twice_expm1_over_minus(r, kExp32);
  return fma(p, r, 2.0) * pow2(bits(t));
}

// The same without the clamp: infinities and whatever over- or underflows come out right by themselves. The exponent
// is rounded once, so the error grows by half an ulp per unit of |x|; beside the 1 that is felt for negative x only.
Num rough_exp_of_minus(Num x) {
  const Num t = x * -kLog2E;
  return scaled(poly(fraction(t), kExp2Fraction32), t);
}

}  // namespace

// Adding 1.5 * 2^mantissa_bits rounds to an integer and leaves it in the low bits.
ExpReduced reduce_exp(Num x, int bias) {
  const Emitter& e = *x.e;
  const double magic = (e.is_f64() ? 0x1.8p52 : 0x1.8p23) + bias;
  const Num t = fma(x, kLog2E, magic);
  const Num n = t - magic;
  const Ln2 ln2 = ln2_parts(e);
  return {fma(n, -ln2.lo, fma(n, -ln2.hi, x)), n, bits(t)};
}

Num pow2(Int t) { return as_num(t << t.e->mantissa_bits()); }

// Two factors of half the exponent each: either alone is always a normal number.
Num scale_by(Num x, Int t) {
  const Int half = t >> 1;
  return (x * pow2(half)) * pow2(t - half);
}

Num expm1_over_r(Num r) { return r.e->is_f64() ? poly(r, kExpm1F64) : poly(r, kExpm1F32); }

Ln2 ln2_parts(const Emitter& e) {
  return e.is_f64() ? Ln2{0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45}
                    : Ln2{0x1.62e4p-1, 0x1.7f7d1cp-20};
}

Num emit_exp(Num x) { return x.e->is_f64() ? exp64(x) : exp32(x); }

Num emit_sigmoid(Num x) { return 1.0 / (exp_of_minus(x) + 1.0); }

Num emit_times_sigmoid(Num x, Num s) {
  const bool rough = !s.e->is_f64() && s.e->options().has_scale;
  return x / ((rough ? rough_exp_of_minus(s) : exp_of_minus(s)) + 1.0);
}

// (e^2a - 1) / (e^2a + 1), whose numerator keeps its relative precision near 0; beyond 20 it is 1.
Num emit_tanh(Num x) {
  const Num a = min(20.0, abs(x));
  const Num em1 = scaled_expm1(a * 2.0, 0);
  return with_sign_of(em1 / (em1 + 2.0), x);
}

// With g = (e^a - 1) / 4: sinh(a) = 2g + g / (2g + 1/2). g stays finite for every clamped a, and 2g
// overflows exactly where sinh does.
Num emit_sinh(Num x) {
  const Num a = min(x.e->is_f64() ? 710.6 : 89.5, abs(x));
  const Num g = scaled_expm1(a, -2);
  const Num twice = g * 2.0;
  return with_sign_of(twice + g / (twice + 0.5), x);
}

Num emit_cosh(Num x) {
  const Num a = min(x.e->is_f64() ? 711.0 : 90.0, abs(x));
  const Num half_exp = exp_flushing(a, -1);
  return half_exp + 0.25 / half_exp;
}

}  // namespace tenon::backend::llvm_cpu::vector_math
