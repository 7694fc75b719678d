// SPDX-License-Identifier: Apache-2.0
// Whatever would be the best of its task is compared with the reference first.
//
//   checks.check_round(entry, measured);   // each is wrong or verified from now on
#pragma once

#include <vector>

#include "measure/measure.h"
#include "tune/task_entry.h"

namespace tenon::tune {

class Checks {
 public:
  // `measurer` and `watch` must outlive it.
  Checks(Verify which, measure::Measurer& measurer, Stopwatch& watch, Tell tell);

  // Those of a round that `which` asks for.
  void check_round(const TaskEntry& e, std::vector<task::Measurement>& round);
  // One that is about to be the start of its task.
  void check_default(const TaskEntry& e, task::Measurement& m);
  // The fastest first, until one is right.
  void check_finals(const TaskEntry& e, std::vector<task::Measurement>& ordered);

 private:
  void check(const TaskEntry& e, task::Measurement& m);

  Verify which_;
  measure::Measurer& measurer_;
  Stopwatch& watch_;
  Tell tell_;
};

}  // namespace tenon::tune
