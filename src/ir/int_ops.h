// SPDX-License-Identifier: Apache-2.0
// Integer (and bool) operations on constants, wrapped to their type: what build.cpp folds by and what
// the interpreter computes.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.h"

namespace tenon::ir {

// Nothing if undefined: division by zero, a shift outside 0 .. bits - 1. Comparisons give 0 or 1.
// `t` is the scalar type of both operands, which are wrapped to it.
std::optional<int64_t> apply_int(BinaryOp op, DType t, int64_t a, int64_t b);

// Truncates and saturates; NaN gives 0. To bool: v != 0.
int64_t float_to_int(DType t, double v);
// From an integer or bool of type `from`, rounded once (to f32 first for the 16-bit types).
double int_to_float(DType to, DType from, int64_t v);

}  // namespace tenon::ir
