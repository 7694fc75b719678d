// SPDX-License-Identifier: Apache-2.0
// Stands in for vector_math until it is there; delete this file then.
#include "backend/llvm/vector_math.h"

namespace tenon::backend::llvm_cpu {

llvm::Value* emit_math(llvm::IRBuilderBase& b, ir::Intrinsic fn, llvm::ArrayRef<llvm::Value*> args,
                       const MathOptions& /*opt*/) {
  switch (fn) {
    case ir::Intrinsic::kSqrt:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, args[0]);
    case ir::Intrinsic::kAbs:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, args[0]);
    default:
      break;
  }
  TENON_CHECK(false) << "vector_math is not there yet: " << to_string(fn);
  return nullptr;
}

}  // namespace tenon::backend::llvm_cpu
