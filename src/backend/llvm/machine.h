// SPDX-License-Identifier: Apache-2.0
// LLVM's code generator for one of our targets.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "backend/backend.h"

namespace tenon::backend::llvm_cpu {

std::unique_ptr<llvm::TargetMachine> make_machine(const target::Target& t);

// kAssembly or kObject.
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, Emit kind);

}  // namespace tenon::backend::llvm_cpu
