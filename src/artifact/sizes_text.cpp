// SPDX-License-Identifier: Apache-2.0
#include "artifact/sizes_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon::artifact {

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string shape_text(const TensorInfo& t, const std::vector<Dim>& dims) {
  std::vector<std::string> parts;
  bool named = false;
  for (size_t a = 0; a < t.shape.size(); ++a) {
    const int32_t dim = t.dims.empty() ? -1 : t.dims[a];
    const auto sum = t.sums.find(a);
    named = named || dim >= 0 || sum != t.sums.end();
    parts.push_back(sum != t.sums.end() ? "(" + sum->second.text() + ")"
                    : dim < 0           ? std::to_string(t.shape[a])
                                        : dims[static_cast<size_t>(dim)].name);
  }
  return parts.empty() ? "scalar" : fmt::format("{}", fmt::join(parts, named ? " x " : "x"));
}

std::string values_text(const std::vector<int64_t>& values) {
  const int64_t step = values.size() > 2 ? values[1] - values[0] : 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] - values[i - 1] != step) return fmt::format("{}", fmt::join(values, ", "));
  }
  if (step == 0) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{}..{}{}", values.front(), values.back(),
                     step == 1 ? "" : fmt::format(":{}", step));
}

}  // namespace tenon::artifact
