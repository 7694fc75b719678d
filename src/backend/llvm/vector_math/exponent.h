// SPDX-License-Identifier: Apache-2.0
// Taking numbers apart into exponent and mantissa and putting them together, for exp, log and pow.
#pragma once

#include "backend/llvm/vector_math/emitter.h"

namespace tenon::backend::llvm_cpu::vector_math {

// e^x = 2^n e^r with n the integer nearest to x / ln2 and |r| <= ln2/2 (and a rounding). The low bits
// of `t` hold n + bias; n itself is a Num too.
struct ExpReduced {
  Num r;
  Num n;
  Int t;
};
ExpReduced reduce_exp(Num x, int bias);

// 2^(the low bits of t, without the format's bias): t holds 0 (gives 0) to the format's largest
// exponent (gives infinity).
Num pow2(Int t);

// x * 2^n where t holds n + 2 * bias: rounds once more where the result is subnormal.
Num scale_by(Num x, Int t);

// (e^r - 1) / r for a reduced r.
Num expm1_over_r(Num r);

// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)). x: positive, normal, finite.
struct LogSplit {
  Num e;
  Num f;
  Int biased;  // e + bias
};
LogSplit split_exponent(Num x);

// ln(2^e (1 + f)) for such e and f.
Num log_of(Num e, Num f);

// ln2 as a sum: e * kHi is exact for every exponent e of the type.
struct Ln2 {
  double hi;
  double lo;
};
Ln2 ln2_parts(const Emitter& e);

}  // namespace tenon::backend::llvm_cpu::vector_math
