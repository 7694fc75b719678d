// SPDX-License-Identifier: Apache-2.0
// Code of all kernels of a program, compiled on all cores: machine code, or modules for GPUs.
#pragma once

#include <string>
#include <vector>

#include "artifact/program.h"
#include "backend/gpu_module.h"

namespace tenon::artifact {

struct CompiledKernel {
  std::string symbol;        // "NAME_k_KERNEL"
  std::string object;        // relocatable, the symbol hidden; empty for GPUs
  backend::GpuModule gpu;    // its kernels' names begin with the symbol; empty for CPUs
  std::string ir, assembly;  // as text, where asked for
  int64_t workspace_bytes = 0;
};

struct KernelOptions {
  int threads = 0;  // 0: one per core of the target's machine at hand
  bool ir = false, assembly = false;
};

// Returns one entry per kernel, in the order of program.kernels.
std::vector<CompiledKernel> compile_kernels(const Program& program, const KernelOptions& options);

}  // namespace tenon::artifact
