// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon::tools {

std::string grouped(int64_t n) {
  std::string digits = fmt::format("{}", n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) {
    return fmt::format("{:.1f} us", seconds * 1e6);
  }
  return seconds < 1 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) {
    return fmt::format("{:.0f} B", bytes);
  }
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit < 3; bytes /= 1024) {
    ++unit;
  }
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace tenon::tools
