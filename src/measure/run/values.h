// SPDX-License-Identifier: Apache-2.0
// Values to time with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::run {

// Values of the type that are quick to compute with: floats of either sign in [0.5, 1), integers 0 and 1.
std::vector<char> quick_values(const std::string& dtype, int64_t bytes);

}  // namespace tenon::run
