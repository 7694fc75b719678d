// SPDX-License-Identifier: Apache-2.0
#include "db/measurement_rows.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <vector>

namespace tenon::db {
namespace {

// Nothing: these are no times.
std::optional<std::vector<double>> read_seconds(const std::string& text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return std::nullopt;
  std::vector<double> seconds;
  for (const auto& s : list) {
    if (!s.is_null() && !s.is_number()) return std::nullopt;
    seconds.push_back(s.is_null() ? kInfinity : s.get<double>());
  }
  return seconds;
}

}  // namespace

task::Outcome read_outcome(const std::string& text) {
  return task::parse_outcome(text).value_or(task::Outcome::kRefused);
}

std::string where(const Filter& f, const std::string& more) {
  std::string text;
  const auto add = [&](const std::string& condition) {
    text += (text.empty() ? " WHERE " : " AND ") + condition;
  };
  if (!f.task.empty()) add("task = ?");
  if (!f.target.empty()) add("target = ?");
  if (!f.protocol.empty()) add("protocol = ?");
  if (!f.run.empty()) add("run = ?");
  if (!more.empty()) add(more);
  return text;
}

void bind_filter(Statement& s, const Filter& f) {
  for (const std::string* v : {&f.task, &f.target, &f.protocol, &f.run}) {
    if (!v->empty()) s.bind(*v);
  }
}

std::string valid_utf8(const std::string& text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

std::string prunable_rows(const Filter& f) {
  return fmt::format(
      "SELECT id FROM (SELECT id, outcome, verified, bad,"
      " row_number() OVER (PARTITION BY task, target, protocol ORDER BY bad, median_s, id) AS "
      "place,"
      " row_number() OVER (PARTITION BY task, target, protocol, verified"
      "  ORDER BY bad, median_s, id) AS place_of_verified"
      " FROM (SELECT *, NOT ({}) OR (task, trace) IN"
      "  (SELECT task, trace FROM measurement WHERE outcome = 'wrong') AS bad"
      "  FROM measurement{}))"
      " WHERE outcome <> 'wrong' AND"
      " (bad OR (place > ? AND NOT (verified = 1 AND place_of_verified = 1)))",
      kRan, where(f));
}

task::Measurement read_row(const Statement& s) {
  task::Measurement m;
  m.task = s.text(0);
  m.target = s.text(1);
  m.protocol = s.text(2);
  m.trace = s.text(3);
  m.outcome = read_outcome(s.text(4));
  auto seconds = read_seconds(s.text(5));
  if (seconds) m.seconds = *seconds;
  m.best_s = s.real(6);
  m.median_s = s.real(7);
  m.low_s = s.real(8);
  m.high_s = s.real(9);
  m.build_s = s.real(10);
  m.run_s = s.real(11);
  m.error = s.text(12);
  m.verified = s.integer(13) != 0;
  m.load1 = s.real(14);
  m.mhz = s.real(15);
  m.run = s.text(16);
  m.time = s.integer(17);
  m.handoff_ns = s.real(18);
  m.choices = s.text(19);
  if (!seconds) {
    m.outcome = task::Outcome::kRefused;
    m.verified = false;
    m.error = std::string(task::kDamaged) + ": its times cannot be read";
  }
  return m;
}

}  // namespace tenon::db
