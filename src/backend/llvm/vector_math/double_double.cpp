// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/vector_math/double_double.h"

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

// Halves of the mantissa, so that products of halves are exact.
Pair split(Num a) {
  const Num scaled = a * (a.e->is_f64() ? 0x1p27 + 1 : 0x1p12 + 1);
  const Num hi = scaled - (scaled - a);
  return {hi, a - hi};
}

}  // namespace

Pair fast_two_sum(Num a, Num b) {
  const Num s = a + b;
  return {s, b - (s - a)};
}

Pair two_sum(Num a, Num b) {
  const Num s = a + b;
  const Num rounded_b = s - a;
  return {s, (a - (s - rounded_b)) + (b - rounded_b)};
}

Pair two_product(Num a, Num b) {
  const Num p = a * b;
  if (a.e->options().has_fma) {
    return {p, fma(a, b, -p)};
  }
  const Pair x = split(a);
  const Pair y = split(b);
  const Num error = ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo;
  return {p, error};
}

Pair multiply(Pair a, Pair b) {
  const Pair p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi));
}

}  // namespace tenon::backend::llvm_cpu::vector_math
