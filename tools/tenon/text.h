// SPDX-License-Identifier: Apache-2.0
// Shapes and lengths of time as people write them; numbers are in support/text.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/text.h"

namespace tenon::tools {

// "1x3x224x224"; a scalar is "scalar".
std::string shape_text(const std::vector<int64_t>& shape);
// "5m", "300s", "1h30m", "10ms", "250us", "90" (seconds) => seconds. Throws UserError that begins with `what`.
double parse_duration(const std::string& text, const std::string& what);

}  // namespace tenon::tools
