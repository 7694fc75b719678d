// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/vector_math/coefficients.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

// pi/2 rounded to the type, and what that rounding lost.
struct HalfPi {
  double hi;
  double lo;
};
HalfPi half_pi(const Emitter& e) {
  return e.is_f64() ? HalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}
                    : HalfPi{0x1.921fb6p+0, -0x1.777a5cp-25};
}

// asin(s) for 0 <= s <= 1/2, z = s^2; as s + s*tail, the tail apart.
Num asin_tail(Num z) { return z * (z.e->is_f64() ? poly(z, kAsin64) : poly(z, kAsin32)); }

// Above 1/2, asin(a) = pi/2 - 2 asin(sqrt((1-a)/2)); 1 - a is exact there. NaN for a > 1 by the root.
struct AsinReduced {
  Mask large;
  Num s;     // what asin is taken of
  Num tail;  // asin(s) = s + s * tail
};
AsinReduced reduce_asin(Num a) {
  const Mask large = a > 0.5;
  const Num z = select(large, 0.5 - a * 0.5, a * a);
  return {large, select(large, sqrt(z), a), asin_tail(z)};
}

}  // namespace

Num emit_asin(Num x) {
  const Num a = abs(x);
  const AsinReduced reduced = reduce_asin(a);
  const HalfPi h = half_pi(*x.e);
  const Num y = fma(reduced.s, reduced.tail, reduced.s);
  const Num upper = h.hi - (y * 2.0 - h.lo);
  return with_sign_of(select(reduced.large, upper, y), x);
}

// x >= 1/2: 2 asin(sqrt((1-x)/2));  |x| < 1/2: pi/2 - asin(x);  x <= -1/2: pi - 2 asin(sqrt((1+x)/2))
Num emit_acos(Num x) {
  const Num a = abs(x);
  const AsinReduced reduced = reduce_asin(a);
  const HalfPi h = half_pi(*x.e);
  const Num y = fma(reduced.s, reduced.tail, reduced.s);
  const Num signed_y = as_num(bits(y) ^ (bits(x) & x.e->sign_bit()));
  const Num middle = h.hi - (signed_y - h.lo);
  const Num twice = y * 2.0;
  const Num outer = select(x < 0.0, 2.0 * h.hi - (twice - 2.0 * h.lo), twice);
  return select(reduced.large, outer, middle);
}

// Above 1, atan(a) = pi/2 - atan(1/a).
Num emit_atan(Num x) {
  const Num a = abs(x);
  const Mask large = a > 1.0;
  const Num t = select(large, 1.0 / a, a);
  const Num u = t * t;
  const HalfPi h = half_pi(*x.e);
  const Num y = fma(t * u, x.e->is_f64() ? poly(u, kAtan64) : poly(u, kAtan32), t);
  const Num upper = h.hi - (y - h.lo);
  return with_sign_of(select(large, upper, y), x);
}

}  // namespace tenon::backend::llvm_cpu::vector_math
