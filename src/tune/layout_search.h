// SPDX-License-Identifier: Apache-2.0
// The joint stage of Xu et al., "ALT": layouts and loops together. A strategy proposes a layout of
// an operator's edges, the loop space of that layout is built, its loops are tuned with as many
// trials as every other layout gets, and the best time found rewards the layout. What comes out are
// layout times; which of them a network takes is decided by plan::choose_layouts.
//
//   LayoutSearch search(tasks, specs, tuner_options, options, measurer, db, run, tell);
//   while (search.step(stop)) {}
//   options.layout_times = search.layout_times();
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/layout_choice.h"
#include "search/strategy/strategy.h"
#include "tune/tuner.h"

namespace tenon::tune {

struct LayoutOptions {
  std::string strategy = "evolution";  // a row of search::strategies(); empty: no stage
  std::string learned;  // a file: what its learner knew, if it is there, and then what it knows
  double share = 0.35;  // of the budget, and of the trials
  int64_t trials = 24;  // of every layout's loops
  int64_t rounds = 2;   // that these are measured in
  int patience = 10;    // layouts without a better one after which an operator is left alone
  templates::Accuracy accuracy = templates::Accuracy::kDefault;
  std::vector<schedule::Algorithm> without = {};  // that no layout's first program may use
  bool on() const { return !strategy.empty(); }
};

class LayoutSearch {
 public:
  LayoutSearch(const std::vector<TaskToTune>& tasks, const std::vector<ModelSpec>& models,
               const TunerOptions& tuner, const LayoutOptions& options, measure::Measurer& measurer,
               db::Database* db, const std::string& run, Tell tell);
  ~LayoutSearch();
  LayoutSearch(const LayoutSearch&) = delete;
  LayoutSearch& operator=(const LayoutSearch&) = delete;

  // One layout of one operator, the one first where most is to be gained; false: nothing is left to
  // try.
  bool step(const std::function<bool()>& stop);

  const plan::LayoutTimes& layout_times() const;
  int64_t measured() const;  // by this object
  int64_t screened() const;  // layouts that the cost model looked at
  // What the best layouts found save in all networks, conversions between them left out.
  double gained_s() const;
  // For later runs and other models, into LayoutOptions::learned; nothing if there is no such file
  // or no learner.
  void keep_learned() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::tune
