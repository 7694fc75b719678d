// SPDX-License-Identifier: Apache-2.0
// The backend of CPUs: LLVM's code generators for x86-64 and aarch64, lld, and a loader.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace tenon::backend::llvm_cpu {

bool makes_code_for(const target::Target& t);
std::unique_ptr<Compiler> make_compiler(const target::Target& t);

}  // namespace tenon::backend::llvm_cpu
