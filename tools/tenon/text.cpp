// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon::tools {

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace tenon::tools
