// SPDX-License-Identifier: Apache-2.0
// Tunes a set of tasks, round by round: the scheduler picks a task, a strategy proposes programs,
// the measurer times them, new bests are verified, everything is recorded, the cost model learns.
// What was recorded before counts as measured: to go on after a kill is to begin again.
//
//   TaskTuner tuner(tasks, {{.weights = {2, 1}}}, options, measurer, &db, run, tell);
//   while (tuner.step(stop)) {}
//   tuner.results()[0].best;
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/db.h"
#include "events/events.h"
#include "history/known_programs.h"
#include "measure/measure.h"
#include "search/strategy/strategy.h"
#include "task/task.h"
#include "templates/template.h"
#include "tune/run_model.h"
#include "tune/scheduler.h"
#include "tune/stopwatch.h"
#include "value/instant.h"

namespace tenon::tune {

struct TaskToTune {
  task::Task task;
  schedule::Trace
      start;  // the default schedule: measured first, and kept by a task that does not gain
  std::string origin;  // who made it: "template conv"
};

enum class Verify : uint8_t {
  kBest,  // whatever is about to become the best of its task
  kAll,   // every program that ran
  kOff,   // nothing: for experiments; no artifact may be made of it
};

struct TunerOptions {
  uint64_t seed = 1;
  std::string space = "joint";
  std::string strategy = "evolution";
  std::string cost_model = "xgb";
  std::string cost_model_file;      // saved by an earlier run, instead of the row; empty: none
  std::string networks;             // a folder for compiled ones of saved models; empty: none
  std::shared_ptr<RunModel> model;  // what the stages of a run share; null: one of these options
  // Whose programs tasks begin with, shared likewise; null: none.
  std::shared_ptr<history::KnownPrograms> known;
  // What it would choose is tried before anything else; null: nothing.
  std::shared_ptr<const value::Instant> instant;
  Verify verify = Verify::kBest;
  // Programs that round worse (plan::Errors::judge) are left alone, and told of.
  templates::Accuracy accuracy = templates::Accuracy::kFast;
  bool lean = false;   // those with algorithms that inflate weights (plan/lean.h) likewise
  int64_t trials = 0;  // of all tasks together, with those of the records of this run; 0: no limit
  int64_t round = 0;   // programs measured in one round, at most; 0: Measurer::round
  int threads = 0;     // for thinking; 0: one per core
  search::StrategyOptions search;
  SchedulerOptions scheduler;
  Clock clock;  // empty: the machine's
  // Instead of the row named above: for what is no row, such as recorded data.
  std::function<std::unique_ptr<space::Space>(const task::Task&)> make_space;
};

int threads_of(const TunerOptions& options);

struct TaskResult {
  double start_s = 0;      // median of the default; 0: it was not measured, infinity: it failed
  double best_s = 0;       // median of the best verified, start_s while nothing is better; 0: none
  schedule::Trace best;    // the default while nothing is better
  std::string origin;      // "tuned", or who made the default
  bool no_faster = false;  // finals could not tell the best from the default, which is kept
  int64_t measured = 0;    // with those of earlier records
  int64_t failed = 0;
  std::map<std::string, int64_t> failures;  // by outcome
};

// The receiver adds the time and keeps them.
using Tell = std::function<void(const events::Event&)>;

class TaskTuner {
 public:
  // `db` may be null: nothing is kept. Throws UserError for unknown rows.
  TaskTuner(std::vector<TaskToTune> tasks, std::vector<ModelSpec> models,
            const TunerOptions& options, measure::Measurer& measurer, db::Database* db,
            const std::string& run, Tell tell);
  ~TaskTuner();
  TaskTuner(const TaskTuner&) = delete;
  TaskTuner& operator=(const TaskTuner&) = delete;

  // One round; false: no trials left, or nothing left to try. `stop` is asked between measurements.
  // Where the measurer overlaps, the next round is proposed and measured meanwhile.
  bool step(const std::function<bool()>& stop);
  // From now on; 0: no limit.
  void set_trials(int64_t trials);
  // Cancels what is in flight and was not begun, and keeps what comes of the rest: after the last
  // step.
  void settle();
  const std::vector<TaskResult>& results() const;
  // Interleaved re-measurement of the best few and the default of each task that gained; the winner
  // becomes the best.
  void finals(double seconds_per_task, const std::function<bool()>& stop);

  int64_t measured() const;  // in this run
  int64_t failed() const;
  double objective() const;
  // Wall time by what it went into: "search", "train", "measure", "verify", "record".
  const std::map<std::string, double>& seconds() const;
  // For reports when nothing ran: outcome, error, task key, trace as JSON; the first of each kind.
  struct Reason {
    std::string outcome, error, task, trace;
    int64_t count = 0;
  };
  std::vector<Reason> reasons() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::tune
