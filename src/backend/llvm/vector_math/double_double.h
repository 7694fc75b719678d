// SPDX-License-Identifier: Apache-2.0
// Unevaluated sums hi + lo of two numbers of one type, about twice its precision (Dekker 1971).
#pragma once

#include "backend/llvm/vector_math/emitter.h"

namespace tenon::backend::llvm_cpu::vector_math {

struct Pair {
  Num hi;
  Num lo;
};

// a + b exactly; the first form needs |a| >= |b| or a == 0.
Pair fast_two_sum(Num a, Num b);
Pair two_sum(Num a, Num b);

// a * b exactly, unless it over- or underflows. Without fma the operands must be below 2^996.
Pair two_product(Num a, Num b);

Pair multiply(Pair a, Pair b);

}  // namespace tenon::backend::llvm_cpu::vector_math
