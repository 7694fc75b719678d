// SPDX-License-Identifier: Apache-2.0
// The processors of this machine as a device: modules are shared libraries, threads are the runtime's.
#pragma once

#include "measure/run/device.h"

namespace tenon::run {

std::unique_ptr<Device> open_cpu();

}  // namespace tenon::run
