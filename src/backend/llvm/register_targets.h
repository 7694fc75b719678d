// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Support/TargetSelect.h>

namespace tenon::backend::llvm_cpu {

// The three that tenon generates code for, not all that LLVM knows: a static build links no others. Idempotent.
inline void register_targets() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

}  // namespace tenon::backend::llvm_cpu
