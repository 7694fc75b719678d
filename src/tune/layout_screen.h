// SPDX-License-Identifier: Apache-2.0
// Layouts that were proposed and wait to be timed. To time one takes the trials of its loops, so
// hundreds are looked at by the cost model first: what the default program under each layout is
// worth.
//
//   LayoutScreen screen(space, *strategy, model, [&](const auto& p) { return task_with(p); });
//   while (auto layout = screen.next(rng)) ...   // the most promising one now
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cost/model.h"
#include "search/strategy/strategy.h"
#include "tune/tuner.h"

namespace tenon::tune {

class LayoutScreen {
 public:
  // The task under a layout, with its default program; nothing if there is none.
  using TaskUnder = std::function<std::optional<TaskToTune>(const space::Program&)>;

  // `model` may be null: then layouts come in the order of their proposals. Both must live as long.
  LayoutScreen(search::Strategy& strategy, const cost::CostModel* model, TaskUnder task_under)
      : strategy_(strategy), model_(model), task_under_(std::move(task_under)) {}

  // Nothing: the strategy has no more to propose.
  std::optional<space::Program> next(Rng& rng);
  int64_t screened() const { return screened_; }  // layouts that were looked at

 private:
  struct Waiting {
    space::Program layout;
    cost::Row row;  // of the default program; empty: it could not be encoded
  };
  void refill(Rng& rng);
  size_t most_promising() const;

  search::Strategy& strategy_;
  const cost::CostModel* model_;
  TaskUnder task_under_;
  std::vector<Waiting> waiting_;  // as proposed
  int64_t screened_ = 0;
};

}  // namespace tenon::tune
