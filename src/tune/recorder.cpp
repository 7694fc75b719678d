// SPDX-License-Identifier: Apache-2.0
#include "tune/recorder.h"

#include <fmt/format.h>

#include "support/check.h"
#include "te/text.h"

namespace tenon::tune {
namespace {

using task::Measurement;

constexpr int64_t kMostUndecided = 32;  // one after the other

}  // namespace

Recorder::Recorder(db::Database* db, std::string run, Stopwatch& watch, Tell tell)
    : db_(db), run_(std::move(run)), watch_(watch), tell_(std::move(tell)) {}

std::vector<Measurement> Recorder::open(const task::Task& t, const measure::Measurer& measurer) {
  if (db_ == nullptr) return {};
  db_->add_task({t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops});
  const std::string target = measurer.target(*t.target), protocol = measurer.protocol();
  std::vector<Measurement> out = db_->measurements({t.key, target, protocol, ""});
  if (t.exact_key == t.key) return out;
  // Earlier versions gave the task another key.
  for (Measurement& m : db_->measurements({t.exact_key, target, protocol, ""})) {
    m.task = t.key;
    out.push_back(std::move(m));
  }
  return out;
}

void Recorder::record(const TaskEntry& e, std::vector<Measurement>& round) {
  std::vector<Measurement> decided, open;
  for (Measurement& m : round) {
    m.run = run_;
    (m.outcome == task::Outcome::kUndecided ? open : decided).push_back(m);
  }
  if (db_ != nullptr) watch_.time("record", [&] { db_->record(decided); });
  for (const Measurement& m : open) tell_(events::Undecided{e.key(), m.error, m.trace});
  undecided_ = decided.empty() ? undecided_ + std::ssize(open) : 0;
  if (undecided_ < kMostUndecided) return;
  throw UserError(fmt::format("{} programs in a row could not be judged; the last: {}", undecided_,
                              open.back().error),
                  "what was recorded is safe; the same command goes on from there");
}

}  // namespace tenon::tune
