// SPDX-License-Identifier: Apache-2.0
// A task while it is tuned: its space, its strategy, what was measured of it, and the best so far.
//
//   e.history.add(measurement);
//   refresh(e, Verify::kBest);   // e.result is what the measurements say now
#pragma once

#include <memory>
#include <string>

#include "history/task_history.h"
#include "search/strategy/strategy.h"
#include "space/space.h"
#include "task/record.h"
#include "tune/transplants.h"
#include "tune/tuner.h"

namespace tenon::tune {

struct TaskEntry {
  // With an empty history.
  TaskEntry(TaskToTune task, const TunerOptions& options, const cost::CostModel& model);

  TaskToTune given;
  std::string start;           // its trace as JSON
  bool default_begun = false;  // to be measured
  bool judged = false;         // finals were measured
  std::unique_ptr<space::Space> space;
  std::unique_ptr<search::Strategy> strategy;
  history::TaskHistory history;
  Transplants transplants;
  TaskResult result;

  const std::string& key() const { return given.task.key; }
};

// Brings the result up to date with the history.
void refresh(TaskEntry& e, Verify verify);

// The finals: the default first, then the fastest few.
std::vector<schedule::Trace> finalists(const TaskEntry& e);
// Each measurement of the finals is as verified as the history has its program; the fastest first.
void order_finals(const TaskEntry& e, std::vector<task::Measurement>& measured);

}  // namespace tenon::tune
