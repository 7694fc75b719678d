// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tenon::tools {

// Keys stay in the order in which they are written.
using Json = nlohmann::ordered_json;

// The answer of a command under --json: exactly one document.
inline std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon::tools
