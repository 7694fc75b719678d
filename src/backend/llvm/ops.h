// SPDX-License-Identifier: Apache-2.0
// Element-wise operations on carried values (types.h): what each operator of the loop IR becomes.
//
//   binary(kMax, f32x16, a, b)      =>  select (fcmp ogt b, a), b, a          one vmaxps
//   binary(kFloorMod, i32, a, 16)   =>  and a, 15
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "arith/interval.h"
#include "backend/llvm/cpu.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

class Ops {
 public:
  Ops(llvm::IRBuilder<>& b, const Cpu& cpu) : b_(b), cpu_(cpu) {}

  // `t` is the type of the operands. `index`: the value is an index expression, which never
  // overflows.
  llvm::Value* binary(ir::BinaryOp op, ir::DType t, llvm::Value* x, llvm::Value* y, bool index);
  // floor_div and floor_mod by a positive constant, where x lies in `range`.
  llvm::Value* floor_div(ir::DType t, llvm::Value* x, int64_t by, arith::Interval range);
  llvm::Value* floor_mod(ir::DType t, llvm::Value* x, int64_t by, arith::Interval range);
  // x*y + z in one rounding when the processor can; otherwise two operations. f32 and f64 only.
  llvm::Value* multiply_add(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* unary(ir::UnaryOp op, ir::DType t, llvm::Value* x);
  llvm::Value* cast(ir::DType from, ir::DType to, llvm::Value* x);
  llvm::Value* call(ir::Intrinsic fn, ir::DType t, llvm::ArrayRef<llvm::Value*> args);
  // x * sigmoid(s); `t` is the type of both.
  llvm::Value* times_sigmoid(ir::DType t, llvm::Value* x, llvm::Value* s);
  // All lanes combined into a scalar.
  llvm::Value* reduce(ir::BinaryOp op, ir::DType t, llvm::Value* x);
  // Neighbouring lanes combined, into `groups` lanes.
  llvm::Value* reduce_groups(ir::BinaryOp op, ir::DType t, llvm::Value* x, int groups);
  llvm::Value* splat(llvm::Value* x, int lanes);
  // {a, b} => {a, a, a, b, b, b}
  llvm::Value* repeat_each(llvm::Value* x, int times);
  // Lanes [begin, begin + count); a scalar when count is 1.
  llvm::Value* lanes(llvm::Value* x, int begin, int count);

 private:
  llvm::Value* float_binary(ir::BinaryOp op, llvm::Value* x, llvm::Value* y);
  llvm::Value* float_pick(bool smaller, llvm::Value* x, llvm::Value* y);
  llvm::Value* float_extremum(bool smaller, llvm::Value* x, llvm::Value* y);
  // Replaces every NaN, which reductions by kMin and kMax skip, by their neutral element.
  llvm::Value* without_nan(ir::BinaryOp op, ir::DType t, llvm::Value* x);
  llvm::Value* int_binary(ir::BinaryOp op, ir::DType t, llvm::Value* x, llvm::Value* y, bool index);
  llvm::Value* divide(ir::BinaryOp op, ir::DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* shift(ir::BinaryOp op, ir::DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* cast_to_float(ir::DType from, ir::DType to, llvm::Value* x);
  llvm::Value* cast_to_narrow(ir::DType to, llvm::Value* x);

  llvm::IRBuilder<>& b_;
  const Cpu& cpu_;
};

}  // namespace tenon::backend::llvm_cpu
