// SPDX-License-Identifier: Apache-2.0
// Float operations of the interpreter: computed in double, rounded to the type.
#pragma once

#include "ir/ir.h"

namespace tenon::ir::interp {

double apply_float(BinaryOp op, DType t, double a, double b);
bool compare_float(BinaryOp op, double a, double b);
// `args` has arity(fn) values; kIsNan and kIsInf give 0 or 1.
double apply_intrinsic(Intrinsic fn, DType t, const double* args);

}  // namespace tenon::ir::interp
