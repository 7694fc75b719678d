// SPDX-License-Identifier: Apache-2.0
// What a machine has for NVIDIA GPUs: card, driver, and the tools of CUDA that are used where they are found.
#pragma once

#include <vector>

#include "timing/machine_state.h"

namespace tenon::tools {

std::vector<timing::Fact> examine_gpu();

}  // namespace tenon::tools
