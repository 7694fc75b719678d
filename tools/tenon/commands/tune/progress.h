// SPDX-License-Identifier: Apache-2.0
// How a tuning run stands, put together from its events (docs/tuning.md lists them). Knows nothing
// of terminals.
//
//   TuneProgress p;
//   p.take(R"({"event":"round","t":12.5,"task":"3f..","tried":32,...})");
//   p.estimate_s();
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::tools {

struct TaskProgress {
  std::string key = {}, label = {};
  double calls = 0;                    // over all models
  std::optional<double> start_s = {};  // its default schedule's; none: not measured, or it failed
  std::optional<double> best_s = {};   // verified
  int64_t trials = 0;
};

struct ModelProgress {
  std::string name = {}, directory = {};
  std::optional<double> written_s = {};  // when its artifact was last renewed
  int64_t tuned = 0;                     // tasks with a tuned schedule in the artifact
  // Whole networks, default against tuned; at the end only.
  std::optional<double> default_s = {}, tuned_s = {}, ratio = {}, low = {}, high = {};
  std::string kept = {};
};

// The joint stage: other layouts of the operators that cost most.
struct LayoutProgress {
  int64_t tried = 0;
  int64_t better = 0;    // than the layout as it was
  bool decided = false;  // which ones the networks take
  int64_t calls = 0;     // whose layouts were decided
};

class TuneProgress {
 public:
  // What is not understood is left out: newer runs may tell more.
  void take(const std::string& event);

  const std::vector<TaskProgress>& tasks() const { return tasks_; }
  const std::vector<ModelProgress>& models() const { return models_; }
  bool begun() const { return !run_.empty(); }
  const std::string& run() const { return run_; }
  double t() const { return t_; }  // of the last event
  double budget_s() const { return budget_s_; }
  int64_t trials() const { return trials_; }
  int64_t measured() const { return measured_; }
  int64_t failed() const { return failed_; }
  int64_t finals() const { return finals_; }  // tasks that were timed again with their defaults
  int64_t again() const { return again_; }  // programs measured besides, in finals; at the end only
  const std::map<std::string, int64_t>& failures() const { return failures_; }
  const LayoutProgress& layouts() const { return layouts_; }
  const std::string& last_task() const { return last_task_; }  // of the last round
  const std::string& ended() const { return ended_; }          // why; empty: it has not

  // Of all models together: sums of calls times the best or the default; none while a task has no
  // time.
  std::optional<double> estimate_s() const;
  std::optional<double> default_estimate_s() const;
  // A task's part of estimate_s; of what is known so far while some is not.
  double share(const TaskProgress& task) const;
  // Seconds to go at tuning time `t`: by the budget or by the trials, whichever ends first.
  std::optional<double> eta_s(double t) const;

 private:
  struct Taker;
  TaskProgress* find(const std::string& key);
  std::vector<TaskProgress> tasks_;
  std::vector<ModelProgress> models_;
  std::string run_, last_task_, ended_;
  double t_ = 0, budget_s_ = 0, begun_s_ = 0;
  int64_t trials_ = 0, measured_ = 0, failed_ = 0, finals_ = 0, again_ = 0, measured_before_ = 0;
  std::map<std::string, int64_t> failures_;
  LayoutProgress layouts_;
};

}  // namespace tenon::tools
