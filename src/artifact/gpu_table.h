// SPDX-License-Identifier: Apache-2.0
// The table that the runtime of GPUs has besides (runtime/cuda/table.h), as LLVM IR text: code, launches, which step
// waits for which.
#pragma once

#include <string>
#include <vector>

#include "artifact/gpu_steps.h"
#include "artifact/kernels.h"
#include "artifact/program.h"

namespace tenon::artifact {

// Defines NAME_rt_cuda. Appends to `out`, which `text` writes to.
class TableText;
void append_gpu_table(std::string& out, TableText& text, const Program& program,
                      const std::vector<CompiledKernel>& kernels);

}  // namespace tenon::artifact
