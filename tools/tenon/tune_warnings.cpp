// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/tune_warnings.h"

#include <fmt/format.h>

#include "tools/tenon/json.h"

namespace tenon::tools {

std::optional<std::string> TuneWarnings::take(const std::string& event) {
  const Json e = Json::parse(event, nullptr, /*allow_exceptions=*/false);
  if (!e.is_object()) return std::nullopt;
  const std::string kind = e.value("event", "");
  std::string text;
  if (kind == "refused") {
    text = fmt::format("task {}: {} of its records cannot be used, the first: {}",
                       e.value("task", ""), e.value("records", 0), e.value("why", ""));
    return said_.insert(text).second ? std::optional(text) : std::nullopt;
  }
  if (kind == "skipped") {
    return fmt::format("row {} of the run's events is left out: {}", e.value("row", 0),
                       e.value("why", ""));
  }
  if (kind != "undecided" || !said_.insert(kind).second) return std::nullopt;
  return fmt::format(
      "a program could not be judged, so nothing is recorded of it: {} "
      "(others are only counted)",
      e.value("why", ""));
}

}  // namespace tenon::tools
