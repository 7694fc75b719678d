// SPDX-License-Identifier: Apache-2.0
// Element-wise mathematics as straight-line LLVM IR: no branches, no tables in memory, no calls to
// libm, so that one implementation serves scalars, every vector width and every target.
//
//   emit_math(b, Intrinsic::kExp, {x}, {.has_fma = true})     x: float or <16 x float>
//     =>  about a dozen vector instructions whose value is exp(x) within 4 ulp
//
// Accuracy and special values of each function: docs/vector-math.md. Code may be emitted with any
// fast-math flags set on the builder: they are ignored and left as they were, because the error
// bounds rest on the order of operations written here.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/IRBuilder.h>

#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

// These flags say what the target can do in one instruction. Claiming more than it has makes LLVM call libm.
struct MathOptions {
  bool has_fma = false;    // fused multiply-add: x86 "+fma" or "+avx512f"; always on aarch64
  bool has_round = true;   // round to integral: x86 "+sse4.1"; always on aarch64
  bool has_scale = false;  // of f32: x * 2^floor(y), and y - floor(y): x86 "+avx512dq,+avx512vl"
};

// `args` (1 for most functions, 2 for kPow, 3 for kFma) share one type: float, double, or a fixed
// vector of either with any number of lanes. The result has that type; for kIsNan and kIsInf it is
// i1 or a vector of i1. Other types and scalable vectors are an InternalError: the caller widens f16
// and bf16 to float.
llvm::Value* emit_math(llvm::IRBuilderBase& b, ir::Intrinsic fn, llvm::ArrayRef<llvm::Value*> args,
                       const MathOptions& opt);

// x * sigmoid(s) by one division and no product; x and s share one type.
llvm::Value* emit_times_sigmoid(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* s,
                                const MathOptions& opt);

}  // namespace tenon::backend::llvm_cpu
