// SPDX-License-Identifier: Apache-2.0
// Runs the launches of a module on a card, or on what pretends to be one.
#pragma once

#include <vector>

#include "backend/gpu_module.h"
#include "ir/interp.h"
#include "runtime/cuda/driver.h"

namespace tenon::simt {

// In the current context of the calling thread; `args` as interpret has them. Machine code where the module has it, PTX
// otherwise. The status of the first thing that failed; memory around a buffer that was written is kIllegalAddress.
runtime::cuda::Status run_module(const runtime::cuda::Driver& driver,
                                 const backend::GpuModule& module, std::vector<ir::Array>& args);

}  // namespace tenon::simt
