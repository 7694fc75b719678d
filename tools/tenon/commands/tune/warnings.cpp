// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/warnings.h"

#include <fmt/format.h>

#include "events/events.h"
#include "report/page/words.h"

namespace tenon::tools {

std::optional<std::string> TuneWarnings::take(const std::string& event) {
  const events::Parsed parsed = events::parse(event);
  if (!parsed.event) return std::nullopt;
  if (const auto* e = std::get_if<events::Refused>(&*parsed.event)) {
    if (e->records == 0)
      return std::nullopt;  // a search that keeps to what is allowed warns of nothing
    const std::string text = fmt::format("task {}: {} of its records cannot be used, the first: {}",
                                         e->task, e->records, e->why);
    return said_.insert(text).second ? std::optional(text) : std::nullopt;
  }
  if (const auto* e = std::get_if<events::Skipped>(&*parsed.event)) {
    return fmt::format("row {} of the run's events is left out: {}", e->row, e->why);
  }
  const auto* e = std::get_if<events::Undecided>(&*parsed.event);
  if (e == nullptr || !said_.insert("undecided").second) return std::nullopt;
  return fmt::format(
      "a program could not be judged, so nothing is recorded of it: {} "
      "(others are only counted)",
      e->why);
}

std::optional<std::string> history_line(const std::string& event) {
  const events::Parsed parsed = events::parse(event);
  if (!parsed.event) return std::nullopt;
  const auto* e = std::get_if<events::HistoryUsed>(&*parsed.event);
  if (e == nullptr) return std::nullopt;
  return "history  " + report::history_text(*e);
}

}  // namespace tenon::tools
