// SPDX-License-Identifier: Apache-2.0
// LLVM IR to PTX, by a part of the passes that LLVM runs for NVIDIA's GPUs. Who tunes waits for all of them again and
// again, and ptxas does once more what most of them do.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "backend/backend.h"

namespace tenon::backend::nvptx {

// The module has been optimised; its only variable is the array of shared memory. kAssembly is what it can be asked for.
std::string write_ptx(llvm::Module& module, llvm::TargetMachine& machine, Emit kind);

}  // namespace tenon::backend::nvptx
