// SPDX-License-Identifier: Apache-2.0
// What measurements teach: each goes into the history of its task, to the strategy and to the cost
// model. A record that may not serve its task, or that rounds too much or needs more memory than is
// allowed, teaches nothing and is told of.
//
//   lessons.learn(entry, records);             // of earlier runs
//   lessons.learn(entry, measured, proposed);  // of this round
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/accuracy.h"
#include "tune/task_entry.h"

namespace tenon::tune {

// What programs must keep to.
struct Limits {
  templates::Accuracy accuracy = templates::Accuracy::kFast;
  bool lean = false;  // no algorithm that inflates weights (plan/lean.h)
};

class Lessons {
 public:
  // `model` must outlive it. `run`: only what it measured, in this part or an earlier one, counts.
  Lessons(Limits limits, RunModel& model, std::string run, Tell tell);

  // `proposed`: in the same order; what was just proposed knows more of itself than its trace
  // tells.
  void learn(TaskEntry& e, const std::vector<task::Measurement>& measurements,
             std::span<const space::Program> proposed = {});
  // Each reason is told once for each task.
  bool is_beyond_limits(const TaskEntry& e, const space::Program& p);
  // Of the records that were refused since it was asked last.
  void tell_refused();

  int64_t measured() const { return measured_; }  // in this run
  int64_t failed() const { return failed_; }
  std::vector<TaskTuner::Reason> reasons() const;  // the most frequent first

 private:
  // What the strategy and the cost model are told of a measurement.
  struct Lesson {
    std::optional<space::Program> candidate;  // nothing: the space does not have it
  };
  struct Refused {
    int64_t count = 0;
    std::string why;  // of the first
  };

  void count(const task::Measurement& m);
  std::string beyond_limits(const TaskEntry& e, const schedule::State& s,
                            const schedule::Trace& trace);
  void refuse(const std::string& task, const std::string& why);
  std::optional<Lesson> lesson_of(const TaskEntry& e, const task::Measurement& m,
                                  const space::Program* proposed);

  Limits limits_;
  RunModel& model_;
  std::string run_;
  Tell tell_;
  std::map<std::pair<std::string, std::string>, TaskTuner::Reason> reasons_;  // outcome, error
  std::map<std::string, Refused> refused_;  // records, by task: not told yet
  plan::Errors errors_;
  std::set<std::string> told_;  // why programs are left out, by task
  int64_t measured_ = 0, failed_ = 0;
};

}  // namespace tenon::tune
