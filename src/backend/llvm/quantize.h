// SPDX-License-Identifier: Apache-2.0
// Real numbers to 8-bit integers: cast(u8, min(max(round(x / scale) + zero, 0), 255)) in few instructions, to the bit.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>

#include "backend/llvm/cpu.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

// An f32 that is rounded, moved by a whole number and kept in the range of the 8-bit type `to`.
struct Quantized {
  ir::Expr x;
  std::optional<float> scale;  // that x is divided by
  double zero = 0;
  ir::DType to;
};
std::optional<Quantized> as_quantized(const ir::Cast& n);

llvm::Value* emit_quantized(llvm::IRBuilder<>& b, const Cpu& cpu, const Quantized& q,
                            llvm::Value* x);

}  // namespace tenon::backend::llvm_cpu
