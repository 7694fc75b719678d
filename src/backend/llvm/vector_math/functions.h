// SPDX-License-Identifier: Apache-2.0
// One emitter per function; accuracy and special values are tabled in docs/vector-math.md.
#pragma once

#include "backend/llvm/vector_math/emitter.h"

namespace tenon::backend::llvm_cpu::vector_math {

Num emit_exp(Num x);
Num emit_sigmoid(Num x);
Num emit_times_sigmoid(Num x, Num s);  // x * sigmoid(s)
Num emit_tanh(Num x);
Num emit_sinh(Num x);
Num emit_cosh(Num x);

Num emit_log(Num x);
Num emit_asinh(Num x);
Num emit_acosh(Num x);
Num emit_atanh(Num x);

Num emit_pow(Num x, Num y);
Num emit_erf(Num x);

Num emit_sin(Num x);
Num emit_cos(Num x);
Num emit_tan(Num x);
Num emit_asin(Num x);
Num emit_acos(Num x);
Num emit_atan(Num x);

Num emit_floor(Num x);
Num emit_ceil(Num x);
Num emit_round(Num x);  // half to even
Num emit_trunc(Num x);
Num emit_exact_fma(Num a, Num b, Num c);  // one rounding, also where the target has no fma

}  // namespace tenon::backend::llvm_cpu::vector_math
