// SPDX-License-Identifier: Apache-2.0
#include "tune/run_log.h"

#include <algorithm>
#include <cmath>

#include "tune/events.h"

namespace tenon::tune {
namespace {

// Runs may be imported from other machines; what those spent and decided holds only there.
bool is_of(const std::string& machine, const std::vector<db::EventRow>& events) {
  for (const db::EventRow& e : events) {
    if (const auto told = machine_of(e.json)) return *told == machine;
  }
  return true;  // it was cut off before it told anything
}

// Rounds of one search do not know what others of the run have measured; the database does.
events::Event with_counts(events::Event event, const RunLog& log) {
  const auto fill = [&](auto& e) {
    const events::Counted now = log.counted();
    e.measured = now.measured;
    e.failed = now.failed;
  };
  if (auto* round = std::get_if<events::RoundDone>(&event)) fill(*round);
  if (auto* counted = std::get_if<events::Counted>(&event)) fill(*counted);
  return event;
}

}  // namespace

RunLog::RunLog(db::Database& db, Clock now, Forward forward)
    : db_(db), now_(std::move(now)), forward_(std::move(forward)) {}

void RunLog::start() { start_ = now_(); }

std::vector<db::EventRow> RunLog::open(const std::string& command, const std::string& models,
                                       const std::string& machine) {
  claim_ = db_.claim_runs(command, models);
  const auto mine = [&](const db::RunRow& r) { return is_of(machine, db_.events(r.id)); };
  const auto cut_off = db_.unfinished(command, models, mine);
  if (!cut_off) {
    run_ = db_.begin_run(command, models);
    return {};
  }
  run_ = cut_off->id;
  const std::vector<db::EventRow> events = db_.events(run_);
  for (const db::EventRow& e : events) {
    if (std::isfinite(e.at_s)) spent_before_ = std::max(spent_before_, e.at_s);
  }
  return events;
}

void RunLog::end() { db_.end_run(run_); }

void RunLog::tell(const events::Event& event) {
  const double t = spent();
  const std::string json = events::to_json(with_counts(event, *this), t);
  db_.add_event(run_, {t, json});
  if (forward_) forward_(json);
}

events::Counted RunLog::counted() const {
  events::Counted c;
  for (const db::Group& g : db_.groups({"", "", "", run_})) {
    c.measured += g.count;
    c.failed += g.outcome == task::Outcome::kOk ? 0 : g.count;
  }
  return c;
}

int64_t RunLog::measured_beside(const std::function<bool(const std::string&)>& here) const {
  int64_t n = 0;
  for (const db::Group& g : db_.groups({"", "", "", run_})) n += here(g.task) ? 0 : g.count;
  return n;
}

}  // namespace tenon::tune
