// SPDX-License-Identifier: Apache-2.0
// One task's part in gathering: which of its programs are measured next. The default comes first,
// then random draws for half of the programs, then what a short search proposes, whose cost model
// knows this task alone, or what a value function leads to, with more and more noise. The draws depend on the seed and the task, so that every machine and every
// part of a run that was cut off has the same.
//
//   GatherTask t({with_default(task), {}}, options, threads);
//   t.read(db.measurements(..));              // what is on record counts
//   while (!(p = t.next(16)).empty()) t.learn(p, measured(p));
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "history/task_history.h"
#include "search/strategy/strategy.h"
#include "tune/run_model.h"
#include "tune/tuner.h"
#include "value/beam.h"

namespace tenon::tune {

// Many tasks share the cores that measuring leaves, so each looks at few candidates.
inline search::StrategyOptions small_search() {
  search::StrategyOptions o;
  o.population = 256;
  return o;
}

struct GatherOptions {
  uint64_t seed = 1;
  std::string space = "joint";
  std::string strategy = "evolution";
  std::string cost_model = "xgb";
  int64_t programs = 500;                             // of each task, with those on record
  double random_share = 0.5;                          // of them; the others come from the search
  std::shared_ptr<const value::ValueFunction> value;  // null: by the strategy
  bool verify = true;     // the best of each task is compared with the reference
  size_t batch = 16;      // programs of a task in flight
  size_t open_tasks = 8;  // tasks with programs in flight
  int threads = 0;        // for thinking; 0: those that measuring leaves
  search::StrategyOptions search = small_search();
};

// A program of a list that was made elsewhere.
struct ListedProgram {
  std::string trace, choices;  // as records have them
};

struct TaskToGather {
  TaskToTune task;
  std::optional<std::vector<ListedProgram>> list;  // these and no others
};

class GatherTask {
 public:
  GatherTask(TaskToGather given, const GatherOptions& options, int threads);

  const task::Task& task() const { return given_.task.task; }
  // What is on record of the task, target and protocol.
  void read(const std::vector<task::Measurement>& records);
  // Up to n programs that were never measured; empty: it has as many as it should, or all there
  // are.
  std::vector<space::Program> next(size_t n);
  // What came of programs, in the same order.
  void learn(std::span<const space::Program> programs, const std::vector<task::Measurement>& got);
  // A newer word on a program that is known: verified, or wrong.
  void correct(const task::Measurement& m) { history_.add(m); }

  const history::TaskHistory& history() const { return history_; }
  int64_t known() const { return std::ssize(traces_); }  // distinct programs
  int64_t refused() const { return refused_; }           // of the list: they do not fit here

 private:
  void tell(std::span<const search::Tried> tried);
  std::optional<space::Program> adopt(const std::string& trace, const std::string& choices) const;
  bool take(const space::Program& p);
  void take_listed(size_t n, std::vector<space::Program>& out);
  void take_default(std::vector<space::Program>& out);
  void take_first(size_t n, std::vector<space::Program>& out);
  void take_random(size_t n, std::vector<space::Program>& out);
  void take_searched(size_t n, std::vector<space::Program>& out);
  void take_guided(size_t n, std::vector<space::Program>& out);

  TaskToGather given_;
  GatherOptions options_;
  int threads_;
  std::unique_ptr<space::Space> space_;  // null: there is the default alone
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<search::Strategy> strategy_;
  history::TaskHistory history_;
  std::set<std::string> traces_;  // that were measured
  std::set<std::string> asked_;   // that next() gave
  Rng draws_, searches_;
  std::deque<space::Program> drawn_;        // not given yet
  std::set<uint64_t> draws_known_;          // hashes
  int dry_ = 0;                             // draws in a row that brought nothing new
  std::unique_ptr<value::RowMaker> maker_;  // made when first guided
  int guided_ = 0;                          // searches that the value function led
  bool default_given_ = false;
  std::optional<std::deque<space::Program>> first_;  // of the space, not given yet
  size_t listed_ = 0;                                // of the list that were looked at
  int64_t refused_ = 0;
};

}  // namespace tenon::tune
