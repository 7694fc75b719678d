// SPDX-License-Identifier: Apache-2.0
// The cost model of a run: one for all tasks and all stages, so that what a layout or a pair taught
// serves the loops. It remembers what it was told, because every tuner reads the records of its
// tasks anew.
//
//   RunModel model(cost::make_model("xgb", seed, threads));
//   model.add(task, candidate, seconds);   // as often as one likes
//   model.train();                         // once per round
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cost/model.h"
#include "history/renew.h"
#include "space/space.h"

namespace tenon::tune {

class RunModel {
 public:
  explicit RunModel(std::unique_ptr<cost::CostModel> model) : model_(std::move(model)) {}

  const cost::CostModel& model() const { return *model_; }
  // Begins with what earlier runs learned.
  history::Used begin(const db::Database& db, const history::Where& where,
                      const history::Options& options) {
    return history::begin(db, where, options, *model_);
  }
  // Scores for this machine from now on; CostModel::serve.
  std::string serve(const history::Where& where) {
    const target::Target& t = *where.target;
    return model_->serve(where.measured, where.protocol, t.is_cpu() ? t.cpu().vector_bytes : 0);
  }
  // What came of a program, infinity if it failed. The first time counts.
  void add(const task::Task& t, const space::Program& p, double seconds);
  // Lets the model learn what was added.
  void train();
  // How it ranked programs of a task that were then measured, in seconds.
  cost::RankingQuality ranking(const task::Task& t, std::span<const space::Program> programs,
                               std::span<const double> seconds) const;

 private:
  std::unique_ptr<cost::CostModel> model_;
  std::set<std::pair<std::string, uint64_t>> told_;  // key of the task, hash of the trace
  std::vector<cost::Sample> added_;
};

struct TunerOptions;
// The model that the options name, or the saved one. Throws UserError.
std::shared_ptr<RunModel> make_run_model(const TunerOptions& options);

}  // namespace tenon::tune
