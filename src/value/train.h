// SPDX-License-Identifier: Apache-2.0
// A value function out of records (Steiner et al., "Value Learning for Throughput Optimization of Deep Learning Workloads",
// 2021). Whole tasks are held out to see how good it is and how sure one may be of it; then it learns from all.
//
//   const TrainedValue t = train_value(records.tasks, {});
//   t.held_out.top1;              // 0.9: what it takes for the best is that good in the mean
//   to_bytes(t.model);
#pragma once

#include <cstdint>
#include <vector>

#include "history/model_file.h"
#include "history/records.h"
#include "value/function.h"
#include "value/lessons.h"

namespace tenon::value {

struct TrainValueOptions {
  LessonOptions lessons;
  uint32_t width = 64, heads = 4;
  uint32_t epochs = 30, batch = 512;
  uint64_t seed = 1;
  int threads = 1;
  bool rank = false;          // LambdaRank instead of the value loss
  std::string judge = "xgb";  // row of cost::models; empty: none
  bool ship = true;  // false: held-out scores alone, and the model that did not see those tasks
};

struct TrainedValue {
  ValueModel model;
  history::Scores held_out;  // of complete programs, by the model that did not see their tasks
  double rules = 0;          // the same tasks: best time / time of the rules' program, in the mean
  double chosen = 0;         // best time / time of what the margin lets be chosen among the records
  int64_t lessons = 0, programs = 0, tasks = 0;
};

// Throws UserError: there is no trainer, or there are too few records.
TrainedValue train_value(const std::vector<history::Known>& tasks,
                         const TrainValueOptions& options);

}  // namespace tenon::value
