// SPDX-License-Identifier: Apache-2.0
// Search against what was measured before, without a device: the space holds the recorded programs
// of a task and no others, the measurer answers with what came of them. Shows how strategies and
// cost models would have fared.
//
//   auto recorded = std::make_shared<const ReplaySpace>(task, db.measurements(...));
//   std::vector<double> best = replay(recorded, {.strategy = "evolution", .trials = 100});
//   best[9] / recorded->best_s();   // after ten trials
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "measure/measure.h"
#include "space/space.h"

namespace tenon::tune {

class ReplaySpace {
 public:
  // Of one task, target and protocol, oldest first. Traces that do not replay for the task are left
  // out.
  ReplaySpace(task::Task t, const std::vector<task::Measurement>& measurements);

  const task::Task& task() const { return task_; }
  const std::vector<space::Program>& programs() const { return programs_; }  // oldest first
  size_t left_out() const { return left_out_; }
  double best_s() const { return best_s_; }  // infinity: none ran
  const task::Measurement* find(const schedule::Trace& trace) const;

  static constexpr size_t kNowhere = SIZE_MAX;
  size_t index_of(uint64_t trace_hash) const;

 private:
  task::Task task_;
  std::vector<space::Program> programs_;
  std::vector<task::Measurement> outcomes_;  // the last word on each
  std::unordered_map<uint64_t, size_t> by_hash_;
  size_t left_out_ = 0;
  double best_s_ = 0;
};

// The holes of the space `joint`, with the values that recorded programs took.
std::unique_ptr<space::Space> replay_space(std::shared_ptr<const ReplaySpace> recorded);
// Answers with the last word on each trace, failures too; one that is not on record is refused.
// `seen` is told each.
std::unique_ptr<measure::Measurer> replay_measurer(
    std::shared_ptr<const ReplaySpace> recorded,
    std::function<void(const task::Measurement&)> seen = nullptr);

struct ReplayOptions {
  std::string strategy = "evolution";
  std::string cost_model = "xgb";
  uint64_t seed = 1;
  int64_t trials = 100;
  int64_t round = 0;  // 0: a tenth of the trials, at most 32
  int threads = 0;    // 0: one per core
};
// The best time after each trial, infinity until one ran; shorter than `trials` when the strategy
// found nothing more. The oldest program is tried first, as tuning begins with the default. Throws
// UserError for unknown rows.
std::vector<double> replay(const std::shared_ptr<const ReplaySpace>& recorded,
                           const ReplayOptions& options);

}  // namespace tenon::tune
