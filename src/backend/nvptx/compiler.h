// SPDX-License-Identifier: Apache-2.0
// The backend of NVIDIA's GPUs: PTX by LLVM, machine code by ptxas where that is found. For the target `cuda simt` the
// same kernels are compiled for this machine's processor, and src/simt runs them.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace tenon::backend::nvptx {

bool makes_code_for(const target::Target& t);
std::unique_ptr<Compiler> make_compiler(const target::Target& t);

}  // namespace tenon::backend::nvptx
