// SPDX-License-Identifier: Apache-2.0
// A device with memory that nobody else can read and a clock of its own, on top of the CPU.
#pragma once

#include "measure/run/device.h"

namespace tenon::run {

constexpr double kToySeconds = 0.25;  // what any launch takes by its clock

std::unique_ptr<Device> open_toy();

}  // namespace tenon::run
