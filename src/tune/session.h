// SPDX-License-Identifier: Apache-2.0
// From models to tuned artifacts: default artifacts first, then which convolutions are computed in
// pairs, then layouts and loops together, then loops alone within a budget, artifacts renewed on
// the way, and at the end a comparison of whole networks in which a task that does not gain keeps
// its default.
//
//   Session s(models, options, measurer, timer, db, forward);
//   Summary sum = s.run(stop);   // each model's directory always has the best verified artifact
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artifact/write.h"
#include "compile/compile.h"
#include "history/renew.h"
#include "measure/network_compare.h"
#include "tune/budget.h"
#include "tune/layout_search.h"
#include "tune/pair_search.h"
#include "tune/run_log.h"
#include "tune/tuner.h"

namespace tenon::tune {

struct Model {
  std::string name;
  std::shared_ptr<const graph::Graph> graph;
  std::filesystem::path directory;                              // where its artifact goes
  std::vector<std::pair<std::string, std::string>> provenance;  // artifact::Program::provenance
  double target_s = 0;                                          // Objective::kTargets
  double reference_s = 0;  // Objective::kSpeedup; 0: its default artifact's
};

struct SessionOptions {
  compile::Options compile;  // target, fuse, threads, and a plan to begin with
  artifact::Outputs outputs;
  TunerOptions tuner;
  PairOptions pairs;       // searched only where all tasks are tuned
  LayoutOptions layouts;   // likewise
  bool transplant = true;  // begin with programs of similar tasks: recorded ones, and these
  std::vector<history::KnownTask> programs;
  double budget_s = 0;                      // 0: until trials or tasks run out
  std::string tasks = "*";                  // glob over labels and keys: others keep their defaults
  std::optional<history::Options> history;  // what earlier runs learned; nothing: not used
  std::string save_cost_model;              // a file for what the model learned; empty: none
  std::string command;  // what makes two runs the same: model hashes and options
  int threads = 1;      // that artifacts will run with
  std::vector<std::string> disturbed = {};  // what may make times unsteady, for reports
};

struct ModelSummary {
  std::string name;
  std::filesystem::path directory;
  measure::NetworkTimes times;  // default against tuned, interleaved
  std::string kept;             // "tuned", or "default: why"
  int tasks = 0, tuned = 0;     // of its tasks, how many have a tuned schedule in the artifact
  // Programs that were given or found but are not in the artifact, and why: "task 9f0c...: .."
  std::vector<std::string> refused = {};
};

struct Summary {
  std::string run;
  std::string reason;  // why it ended: "budget", "trials", "exhausted", "interrupted"
  std::vector<ModelSummary> models;
  std::vector<TaskResult> tasks;
  int64_t measured = 0, failed = 0;  // in this run, with its earlier parts
  int64_t again = 0;                 // besides, in finals
  double spent_s = 0;                // likewise
  std::map<std::string, double> seconds;
  std::vector<Budget::Kind> kinds;  // what shared the seconds of this part of the run
  std::vector<TaskTuner::Reason> reasons;
  std::string history;  // why later runs will not know what this one learned; empty: they will
};

class Session {
 public:
  Session(std::vector<Model> models, SessionOptions options, measure::Measurer& measurer,
          measure::NetworkTimer& timer, db::Database& db, Forward forward);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Throws UserError where files or the database cannot be written; what was recorded stays.
  Summary run(const std::function<bool()>& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::tune
