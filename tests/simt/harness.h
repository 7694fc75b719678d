// SPDX-License-Identifier: Apache-2.0
// Runs functions as a GPU would, on this machine: compiled for `cuda simt`, launched through the driver's interface.
#pragma once

#include <string>
#include <vector>

#include "backend/gpu_module.h"
#include "ir/interp.h"
#include "ir/ir.h"
#include "runtime/cuda/driver.h"
#include "simt/bound_to_threads.h"
#include "target/target.h"

namespace tenon::simt {

// libtenon_simt.so in place of NVIDIA's.
const runtime::cuda::Driver& driver();

const target::Target& simt_target();
const target::Target& gpu(const std::string& processor);  // "sm_90"

backend::GpuModule compile(const ir::Function& f);

// The status of the first launch that failed; `args` as interpret has them.
runtime::cuda::Status run(const ir::Function& f, std::vector<ir::Array>& args);

}  // namespace tenon::simt
