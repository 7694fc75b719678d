// SPDX-License-Identifier: Apache-2.0
// sin, cos, tan: x = k pi/2 + r, |r| <= pi/4, k mod 4 chooses the function and the sign.
#include <array>
#include <span>

#include "backend/llvm/vector_math/coefficients.h"
#include "backend/llvm/vector_math/double_double.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

// pi/2 as a sum. With fma each part is full; without, k * part is exact for |k| <= 2^28 (2^20 in the
// four-part split), and only the last part is full.
constexpr std::array kFused2 = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr std::array kFused3 = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                -0x1.f1976b7ed8fbcp-110};
constexpr std::array kSplit3 = {0x1.921fb5p+0, 0x1.110b46p-26, 0x1.1a62633145c07p-54};
constexpr std::array kSplit4 = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                0x1.b839a252049c1p-104};

// x - k * (the sum of parts), in order.
Num subtract_multiple(Num x, Num k, std::span<const double> parts) {
  for (const double part : parts) {
    x = fma(k, -part, x);
  }
  return x;
}

// x - k pi/2 for |k| <= 2^20 without fma. The first step is exact; what the second rounds off is kept,
// or tan would feel both that and the rounding of the third.
Num subtract_half_pis(Num x, Num k) {
  const Num first = x - k * kSplit4[0];
  const Pair second = two_sum(first, k * -kSplit4[1]);
  return second.hi + subtract_multiple(second.lo, k, std::span(kSplit4).subspan(2));
}

struct TrigReduced {
  Num r;
  Int quadrant;  // k in the low bits
};

// x in double.
TrigReduced reduce_in_double(Num x, bool f32_result) {
  constexpr double kMagic = 0x1.8p52;
  const Num t = fma(x, 0x1.45f306dc9c883p-1, kMagic);
  const Num k = t - kMagic;
  if (x.e->options().has_fma) {
    const std::span<const double> parts = f32_result ? std::span<const double>(kFused2) : kFused3;
    return {subtract_multiple(x, k, parts), bits(t)};
  }
  return {f32_result ? subtract_multiple(x, k, kSplit3) : subtract_half_pis(x, k), bits(t)};
}

// Beyond the documented range r means nothing: keep it small, so that |sin| and |cos| stay <= 1.
Num keep_small(Num r) { return max(-0.8, min(0.8, r)); }

// f32 is reduced in double: the range is wide, and r is right to the last bit of a float.
TrigReduced reduce(Num x) {
  const Emitter& e = *x.e;
  if (e.is_f64()) {
    const TrigReduced reduced = reduce_in_double(x, false);
    return {keep_small(reduced.r), reduced.quadrant};
  }
  const Emitter wide = e.widened();
  const TrigReduced reduced = reduce_in_double(widen(wide, x), true);
  return {keep_small(narrow(e, reduced.r)), narrow_int(e, reduced.quadrant)};
}

Num sin_of(Num r, Num u) {
  return fma(r * u, r.e->is_f64() ? poly(u, kSin64) : poly(u, kSin32), r);
}

Num cos_of(Num u) {
  return fma(u * u, u.e->is_f64() ? poly(u, kCos64) : poly(u, kCos32), fma(u, -0.5, 1.0));
}

// Bit 1 of the quadrant, moved to the sign.
Int sign_from(Int quadrant) {
  const unsigned top = quadrant.e->is_f64() ? 62 : 30;
  return (quadrant << top) & quadrant.e->sign_bit();
}

}  // namespace

// sin is odd, so it is taken of |x|: that keeps the sign of zero.
Num emit_sin(Num x) {
  const TrigReduced reduced = reduce(abs(x));
  const Num u = reduced.r * reduced.r;
  const Mask swap = (reduced.quadrant & 1) != 0;
  const Num y = select(swap, cos_of(u), sin_of(reduced.r, u));
  const Int sign = sign_from(reduced.quadrant) ^ (bits(x) & x.e->sign_bit());
  return as_num(bits(y) ^ sign);
}

Num emit_cos(Num x) {
  const TrigReduced reduced = reduce(abs(x));
  const Num u = reduced.r * reduced.r;
  const Mask swap = (reduced.quadrant & 1) != 0;
  const Num y = select(swap, sin_of(reduced.r, u), cos_of(u));
  return as_num(bits(y) ^ sign_from(reduced.quadrant + x.e->integer(1)));
}

Num emit_tan(Num x) {
  const TrigReduced reduced = reduce(abs(x));
  const Num u = reduced.r * reduced.r;
  const Num s = sin_of(reduced.r, u);
  const Num c = cos_of(u);
  const Int odd = reduced.quadrant & 1;
  const Mask swap = odd != 0;
  const Num y = select(swap, c, s) / select(swap, s, c);  // tan(r + pi/2) = -cos(r) / sin(r)
  const Int sign = sign_from(odd << 1) ^ (bits(x) & x.e->sign_bit());
  return as_num(bits(y) ^ sign);
}

}  // namespace tenon::backend::llvm_cpu::vector_math
