// SPDX-License-Identifier: Apache-2.0
// Group-wise dot products, by the processor's own instruction where it has one and by others with the same answer
// where it has none. Integers wrap; no saturating or flushing instruction is used.
//
//   u8 * i8, groups of 4:   acc[n] + x[4n]*y[4n] + ... + x[4n+3]*y[4n+3]      one vpdpbusd
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>

#include "backend/llvm/ops.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

// The narrow factors of a sum of products that emit_dot can do.
struct DotFactors {
  ir::Expr x, y;
};
// reduce_sum(i32(x) * i32(y)) of 8-bit integers in fours or 16-bit signed ones in pairs, or of bf16 in pairs in f32;
// nothing for anything else.
std::optional<DotFactors> as_dot(const ir::VectorReduce& n);

// acc plus the products of each group; acc has one lane per group. x and y are carried values of types `tx` and `ty`.
llvm::Value* emit_dot(llvm::IRBuilder<>& b, const Cpu& cpu, Ops& ops, ir::DType tx, llvm::Value* x,
                      ir::DType ty, llvm::Value* y, llvm::Value* acc);

}  // namespace tenon::backend::llvm_cpu
