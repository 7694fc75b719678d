// SPDX-License-Identifier: Apache-2.0
// This file defines what the linker of a binary with LLVM inside asks for and nobody calls. Without it the code
// generators of all of LLVM's architectures would have to be part of the binary.
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/TargetSelect.h>

// An extension of the optimiser at link time. Only objects are linked here, never bitcode.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder&) {}};
}

#define TENON_WITHOUT(target)                  \
  void LLVMInitialize##target##TargetInfo() {} \
  void LLVMInitialize##target##Target() {}     \
  void LLVMInitialize##target##TargetMC() {}   \
  void LLVMInitialize##target##AsmPrinter() {} \
  void LLVMInitialize##target##AsmParser() {}

// All architectures of Debian's LLVM but X86, AArch64 and NVPTX.
extern "C" {
TENON_WITHOUT(AMDGPU)
TENON_WITHOUT(ARM)
TENON_WITHOUT(AVR)
TENON_WITHOUT(BPF)
TENON_WITHOUT(Hexagon)
TENON_WITHOUT(Lanai)
TENON_WITHOUT(LoongArch)
TENON_WITHOUT(M68k)
TENON_WITHOUT(MSP430)
TENON_WITHOUT(Mips)
TENON_WITHOUT(PowerPC)
TENON_WITHOUT(RISCV)
TENON_WITHOUT(Sparc)
TENON_WITHOUT(SystemZ)
TENON_WITHOUT(VE)
TENON_WITHOUT(WebAssembly)
TENON_WITHOUT(XCore)
TENON_WITHOUT(Xtensa)
}
