// SPDX-License-Identifier: Apache-2.0
// Runs a Program in this process, kernel by kernel, with poisoned memory.
#pragma once

#include <vector>

#include "artifact/program.h"

namespace tenon::compile {

std::vector<ir::Array> run(const artifact::Program& p, const std::vector<ir::Array>& inputs,
                           int threads = 1);

}  // namespace tenon::compile
