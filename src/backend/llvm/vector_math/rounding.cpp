// SPDX-License-Identifier: Apache-2.0
// Rounding to integers, and fma with one rounding for targets without either instruction.
#include <llvm/IR/Intrinsics.h>

#include "backend/llvm/vector_math/double_double.h"
#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

Num native(llvm::Intrinsic::ID id, Num x) {
  return {x.e, x.e->builder().CreateUnaryIntrinsic(id, x.v)};
}

double integral_from(const Emitter& e) { return e.is_f64() ? 0x1p52 : 0x1p23; }

// |x| rounded half to even: adding 2^mantissa_bits leaves no room for a fraction. Larger numbers are
// integers already; NaN fails the comparison and stays.
Num round_magnitude(Num a) {
  const double magic = integral_from(*a.e);
  return select(a < magic, (a + magic) - magic, a);
}

// a + b rounded to odd: whatever is rounded again later cannot be rounded wrongly twice.
Num add_to_odd(Num a, Num b) {
  const Pair sum = two_sum(a, b);
  const Emitter& e = *a.e;
  const Int s = bits(sum.hi);
  const Int opposite = (s ^ bits(sum.lo)) & e.sign_bit();
  const Int step = {
      &e, e.builder().CreateSelect((opposite != 0).v, e.integer(~uint64_t{0}).v, e.integer(1).v)};
  const Mask inexact = (sum.lo < 0.0) | (sum.lo > 0.0);
  const Mask fix = inexact & !((s & 1) != 0);
  return select(fix, as_num(s + step), sum.hi);
}

// The product of two floats is exact in double.
Num fma32(Num a, Num b, Num c) {
  const Emitter wide = a.e->widened();
  return narrow(*a.e, add_to_odd(widen(wide, a) * widen(wide, b), widen(wide, c)));
}

// Boldo and Melquiond 2008: exact unless an intermediate over- or underflows; there, and for
// infinities, the plain sum stands in.
Num fma64(Num a, Num b, Num c) {
  const Pair u = two_product(a, b);
  const Pair t = two_sum(c, u.lo);
  const Pair v = two_sum(u.hi, t.hi);
  const Num y = v.hi + add_to_odd(t.lo, v.lo);
  return select(unordered(y, y), a * b + c, y);
}

}  // namespace

Num emit_round(Num x) {
  if (x.e->options().has_round) {
    return native(llvm::Intrinsic::roundeven, x);
  }
  return with_sign_of(round_magnitude(abs(x)), x);
}

Num emit_trunc(Num x) {
  if (x.e->options().has_round) {
    return native(llvm::Intrinsic::trunc, x);
  }
  const Num a = abs(x);
  const Num r = round_magnitude(a);
  return with_sign_of(select(a < r, r - 1.0, r), x);
}

Num emit_floor(Num x) {
  if (x.e->options().has_round) {
    return native(llvm::Intrinsic::floor, x);
  }
  const Num r = emit_round(x);
  return select(x < r, r - 1.0, r);
}

// The sign is put back because -0.5 goes up to -0.
Num emit_ceil(Num x) {
  if (x.e->options().has_round) {
    return native(llvm::Intrinsic::ceil, x);
  }
  const Num r = emit_round(x);
  return with_sign_of(abs(select(r < x, r + 1.0, r)), x);
}

Num emit_exact_fma(Num a, Num b, Num c) {
  if (a.e->options().has_fma) {
    return fma(a, b, c);
  }
  return a.e->is_f64() ? fma64(a, b, c) : fma32(a, b, c);
}

}  // namespace tenon::backend::llvm_cpu::vector_math
