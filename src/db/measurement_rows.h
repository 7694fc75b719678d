// SPDX-License-Identifier: Apache-2.0
// Measurements as rows of the database: their columns, how they are written, read and selected.
//
//   Statement s(c, "SELECT " + kColumns + " FROM measurement" + where(filter));
//   bind_filter(s, filter);
//   while (s.step()) out.push_back(read_row(s));
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "db/db.h"
#include "db/statement.h"

namespace tenon::db {

inline constexpr const char* kColumns =
    "task, target, protocol, trace, outcome, seconds, best_s, median_s, low_s, high_s, build_s, "
    "run_s, error,"
    " verified, load1, mhz, run, time, handoff_ns, choices";

inline constexpr const char* kInsert =
    "INSERT INTO measurement ({}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

// It ran, and took a time that can be.
inline constexpr const char* kRan =
    "outcome = 'ok' AND typeof(median_s) = 'real' AND median_s > 0 AND median_s < 9e999";

// " WHERE task = ? AND ..." for what the filter names; bind_filter follows the same order.
std::string where(const Filter& f, const std::string& more = "");
void bind_filter(Statement& s, const Filter& f);
// Which rows prune takes; a filter's conditions stand in the middle.
std::string prunable_rows(const Filter& f);

task::Measurement read_row(const Statement& s);
// One that this version does not know is a failure of some kind.
task::Outcome read_outcome(const std::string& text);

// What a compiler or a crashed program said may be cut in the middle of a letter.
std::string valid_utf8(const std::string& text);

// The columns come in the order of kColumns.
template <class Row>
void bind_measurement(Row& s, const task::Measurement& m) {
  s.bind(m.task).bind(m.target).bind(m.protocol).bind(m.trace).bind(to_string(m.outcome));
  s.bind(nlohmann::json(m.seconds).dump()).bind(m.best_s).bind(m.median_s).bind(m.low_s);
  s.bind(m.high_s).bind(m.build_s).bind(m.run_s).bind(valid_utf8(m.error));
  s.bind(static_cast<int64_t>(m.verified)).bind(m.load1).bind(m.mhz).bind(m.run).bind(m.time);
  s.bind(m.handoff_ns).bind(m.choices);
}

}  // namespace tenon::db
