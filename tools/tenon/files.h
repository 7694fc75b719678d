// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tenon::tools {

// The whole file; "-" is standard input. Throws UserError.
std::string read_text(const std::string& file);
// How messages name it.
std::string display_name(const std::string& file);

}  // namespace tenon::tools
