// SPDX-License-Identifier: Apache-2.0
// The first NVIDIA GPU of this machine as a device, through its driver: modules are bytes of backend::GpuModule.
#pragma once

#include "measure/run/device.h"

namespace tenon::run {

std::unique_ptr<Device> open_cuda();  // throws Unable

}  // namespace tenon::run
