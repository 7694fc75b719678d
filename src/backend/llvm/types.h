// SPDX-License-Identifier: Apache-2.0
// Two LLVM types for each element type. A *carried* value lives in SSA: bool is i1, f16 and bf16
// are floats that hold an exactly representable value. A *stored* value lies in memory: bool is a
// byte, f16 and bf16 are their 16 bits.
//
//   carried(bf16x8) = <8 x float>      stored(bf16x8) = <8 x i16>
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "backend/llvm/cpu.h"
#include "ir/dtype.h"

namespace tenon::backend::llvm_cpu {

// True for f16 and bf16: computed in f32, rounded after each operation.
inline bool is_narrow_float(ir::DType t) { return t.is_float() && t.bits == 16; }

llvm::Type* carried_type(llvm::LLVMContext& ctx, ir::DType t);
llvm::Type* stored_type(llvm::LLVMContext& ctx, ir::DType t);

// Between the two forms; `t` has the lanes of `v`.
llvm::Value* to_stored(llvm::IRBuilder<>& b, const Cpu& cpu, ir::DType t, llvm::Value* v);
llvm::Value* to_carried(llvm::IRBuilder<>& b, const Cpu& cpu, ir::DType t, llvm::Value* v);

// A float (or vector of floats) rounded to the precision of f16 or bf16, nearest even, NaN kept;
// other types come back unchanged.
llvm::Value* round_to(llvm::IRBuilder<>& b, const Cpu& cpu, ir::DType t, llvm::Value* v);

inline int lanes_of(const llvm::Value* v) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector != nullptr ? static_cast<int>(vector->getNumElements()) : 1;
}

}  // namespace tenon::backend::llvm_cpu
