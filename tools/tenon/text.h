// SPDX-License-Identifier: Apache-2.0
// Shapes as people read them; numbers are in support/text.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/text.h"

namespace tenon::tools {

// "1x3x224x224"; a scalar is "scalar".
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace tenon::tools
