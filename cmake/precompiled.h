// SPDX-License-Identifier: Apache-2.0
// Headers of others that most files read. The presets that compile in batches read them once for all files; a file names
// what it uses all the same, and the presets lint and gcc, which know nothing of this list, see whether it does.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tenon::precompiled {

// Templates that these functions, which nobody calls, ask for are made once, too.
inline bool uses_json(const std::string& text) {
  nlohmann::json v = nlohmann::json::parse(text, nullptr, false);
  const bool same = v == "text" && v["a"] == 1 && v.at("b") == true && v.at("c") == 0.5;
  return same && v.get<std::string>() == v.dump() && v.is_array();
}

}  // namespace tenon::precompiled
