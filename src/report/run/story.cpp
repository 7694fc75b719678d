// SPDX-License-Identifier: Apache-2.0
#include "report/run/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/run/events.h"
#include "report/run/layouts.h"
#include "report/run/schedules.h"
#include "support/check.h"

namespace tenon::report {
namespace {

using task::Measurement;
using task::Outcome;

std::string printable(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

// The trace of the first row that took this time; times are stored to the last bit.
std::string trace_of(const std::vector<Measurement>& rows, Seconds s) {
  for (const Measurement& m : rows) {
    if (s && m.outcome == Outcome::kOk && m.median_s == *s) return m.trace;
  }
  return "";
}

class Records {
 public:
  Records(const db::Database& db, Told told, const std::string& run)
      : db_(db), told_(std::move(told)), story_(told_.story) {
    for (const db::TaskRow& t : db.tasks()) rows_[t.key] = t;
    measured_ = db.measurements({.task = "", .target = "", .protocol = "", .run = run});
  }

  RunStory finish() {
    for (const Measurement& m : measured_) {
      if (std::none_of(story_.tasks.begin(), story_.tasks.end(),
                       [&](const TaskStory& t) { return t.key == m.task; })) {
        story_.tasks.emplace_back().key = m.task;
      }
    }
    for (TaskStory& t : story_.tasks) finish_task(t);
    read_failures();
    finish_layouts(story_, rows_);
    story_.measured =
        std::max(story_.measured, static_cast<int64_t>(measured_.size()) - story_.again);
    int64_t failed = 0;
    for (const TaskStory& t : story_.tasks) failed += t.failed;
    story_.failed = std::max(story_.failed, failed);
    drop_others();
    sort_tasks();
    return std::move(story_);
  }

 private:
  void finish_task(TaskStory& t) {
    const db::TaskRow& row = rows_[t.key];
    t.te = row.te;
    if (t.label.empty()) t.label = printable(row.label, "unnamed task");
    if (t.flops == 0) t.flops = row.flops;
    const TaskNotes& notes = told_.notes[t.key];
    for (const Measurement& m : measured_) {
      if (m.task != t.key) continue;
      const bool ok = m.outcome == Outcome::kOk && m.median_s > 0;
      t.tried.push_back(ok ? Seconds(m.median_s) : std::nullopt);
      t.failed += ok ? 0 : 1;
    }
    int64_t failed = 0;
    for (const auto& [kind, count] : notes.failures) failed += count;
    t.trials = std::max(static_cast<int64_t>(t.tried.size()), notes.tried);
    t.failed = std::max(t.failed, failed);
    t.tuned |= t.best_s && t.default_s && *t.best_s < *t.default_s;
    if (notes.kept == "default") {
      t.tuned = false;
      t.best_s = t.default_s;
    }
    t.shape = output_shape(t.te);
    read_schedules(t, notes);
  }

  // Pairs, and operators under layouts, that the networks did not take were measured too, but are
  // no part of them.
  void drop_others() {
    if (story_.layouts.empty() && story_.pairs.empty()) return;
    std::erase_if(story_.tasks, [](const TaskStory& t) { return t.calls.empty(); });
  }

  // Events name traces; a run that went on with records of another finds them by their times.
  void read_schedules(TaskStory& t, const TaskNotes& notes) {
    const std::vector<Measurement> all = db_.measurements(
        {.task = t.key, .target = story_.target, .protocol = story_.protocol, .run = ""});
    std::string start = notes.start_trace;
    if (start.empty()) start = trace_of(all, t.default_s);
    if (start.empty() && !t.default_s) start = first_trace(t.key);
    if (!start.empty()) t.start = schedule_text(t.te, start, story_.target);
    if (!t.tuned) return;
    std::string best = notes.best_trace;
    if (best.empty()) best = trace_of(all, t.best_s);
    if (!best.empty()) t.winner = schedule_text(t.te, best, story_.target);
  }

  // The default is what a task is measured with first, so one that failed is found here.
  std::string first_trace(const std::string& key) const {
    for (const Measurement& m : measured_) {
      if (m.task == key) return m.trace;
    }
    return "";
  }

  Failure& failure(const std::string& outcome) {
    for (Failure& f : story_.failures) {
      if (f.outcome == outcome) return f;
    }
    story_.failures.push_back({outcome, 0, "", "", "", "", ""});
    return story_.failures.back();
  }

  // Rows say the most; rounds count what was pruned since.
  void read_failures() {
    for (const Measurement& m : measured_) {
      if (m.outcome == Outcome::kOk) continue;
      Failure& f = failure(to_string(m.outcome));
      if (f.count++ == 0) first(f, m.task, m.error, m.trace);
    }
    std::map<std::string, int64_t> told;
    for (const auto& [key, notes] : told_.notes) {
      for (const auto& [kind, count] : notes.failures) told[kind] += count;
    }
    for (const auto& [kind, count] : told) {
      Failure& f = failure(kind);
      f.count = std::max(f.count, count);
    }
    add_told(told_.wrong);
    add_told(told_.undecided);
    add_told(told_.refused);
    add_told(told_.left_out);
    add_told(told_.faults);
    std::sort(story_.failures.begin(), story_.failures.end(),
              [](const Failure& a, const Failure& b) {
                return a.count != b.count ? a.count > b.count : a.outcome < b.outcome;
              });
  }

  void add_told(const std::vector<Failure>& events) {
    if (events.empty()) return;
    Failure& f = failure(events[0].outcome);
    int64_t count = 0;
    for (const Failure& e : events) count += e.count;
    f.count = std::max(f.count, count);
    if (f.error.empty()) first(f, events[0].task, events[0].error, events[0].trace);
  }

  void first(Failure& f, const std::string& key, const std::string& error,
             const std::string& trace) {
    f.task = key;
    f.error = error;
    f.trace = trace;
    for (const TaskStory& t : story_.tasks) {
      if (t.key != key) continue;
      f.label = t.label;
      f.command = reproduce_command(t.te, trace, story_.protocol);
    }
  }

  void sort_tasks() {
    const auto weight = [](const TaskStory& t) {
      return network_time(t, t.best_s ? t.best_s : t.default_s).value_or(0);
    };
    std::sort(story_.tasks.begin(), story_.tasks.end(),
              [&](const TaskStory& a, const TaskStory& b) {
                return weight(a) != weight(b) ? weight(a) > weight(b) : a.key < b.key;
              });
  }

  const db::Database& db_;
  Told told_;
  RunStory& story_;
  std::map<std::string, db::TaskRow> rows_;
  std::vector<Measurement> measured_;
};

}  // namespace

double TaskStory::all_calls() const {
  double sum = 0;
  for (const double c : calls) sum += c;
  return sum;
}

std::optional<double> TaskStory::gain() const {
  if (!default_s || !best_s) return std::nullopt;
  return *default_s / *best_s;
}

Seconds network_time(const TaskStory& t, Seconds per_call) {
  if (!per_call) return std::nullopt;
  return *per_call * std::max(1.0, t.all_calls());
}

RunStory read_story(const db::Database& db, const std::string& run) {
  for (const db::RunRow& row : db.runs()) {
    if (row.id != run) continue;
    RunStory story = Records(db, read_events(db.events(run)), run).finish();
    story.id = row.id;
    story.command = row.command;
    story.model = row.model;
    story.started = row.started;
    story.finished = row.finished;
    return story;
  }
  throw UserError(fmt::format("there is no run '{}' in this database", run));
}

}  // namespace tenon::report
