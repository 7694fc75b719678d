// SPDX-License-Identifier: Apache-2.0
// What a machine has for NVIDIA GPUs: card, driver, and the tools of CUDA that are used where they are found.
#pragma once

#include <vector>

#include "tools/tenon/machine_state.h"

namespace tenon::tools {

std::vector<Fact> examine_gpu();

}  // namespace tenon::tools
