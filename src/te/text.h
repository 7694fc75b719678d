// SPDX-License-Identifier: Apache-2.0
// The text form of a ComputeDag; parse(to_text(d)) has the same structural hash as d.
//
//   # matmul with a fused ReLU
//   input A: f32[128, 768]
//   const B: f32[768, 768]
//   C[i: 128, j: 768] = sum(k: 768) A[i, k] * B[k, j]
//   D[i: 128, j: 768] = max(C[i, j], 0.0)
//   output D
//
// Expressions: + - * / (float or truncating), // and % (floor), comparisons, and/or/not, min(,) max(,),
// minimum(,) maximum(,) (of floats: NaN if either is; min and max pass over a NaN on the right),
// select(c, a, b), f32(x) casts, exp(x) and the other intrinsics, integer and float literals (a literal
// takes the type of the other operand; index expressions are i64). A scalar tensor is `S[]`. The dtype of
// a computed tensor is that of its body. Reductions: sum, prod, max, min, maximum, minimum,
// any, all over (k: 8, r: 3).
// Also bit_and, bit_or, bit_xor, bit_not, shl, shr, true, false, inf, nan; f32(1.0) is a literal with its
// type. Names that are not plain are quoted: "conv/1". `kernel NAME` names the dag. A newline ends a
// statement, except inside brackets. Errors are UserErrors with line and column.
#pragma once

#include <string>

#include "te/dag.h"

namespace tenon::te {

ComputeDag parse(const std::string& text, const std::string& file = "te");
std::string to_text(const ComputeDag& dag);
std::string to_text(const ComputeOp& op);

}  // namespace tenon::te
