// SPDX-License-Identifier: Apache-2.0
// The passes between emission and code generation. Only clean-up: promotion of slots to SSA,
// removal of repeated work, motion out of loops. Vectorising, unrolling and inlining belong to the
// schedule.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace tenon::backend::llvm_cpu {

void optimize(llvm::Module& module, llvm::TargetMachine& machine);
// For whoever compiles the result once more, as ptxas does: most of what is left to repeat is found there.
void optimize_briefly(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tenon::backend::llvm_cpu
