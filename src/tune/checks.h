// SPDX-License-Identifier: Apache-2.0
// Whatever would be the best of its task is compared with the reference first.
//
//   Comparison c = checks.begin_round(entry, measured);
//   while (!checks.advance(entry, c, false)) ..;   // something else meanwhile
//   c.round;                                       // what would win is wrong or verified from now on
#pragma once

#include <future>
#include <vector>

#include "measure/measure.h"
#include "tune/task_entry.h"

namespace tenon::tune {

// Programs of one task, of which some are compared, one after the other.
struct Comparison {
  std::vector<task::Measurement> round;
  std::vector<size_t> left = {};  // of the round, that may have to be compared; the first is next
  std::future<measure::Verdict> verdict = {};  // of the first that is left, once it was asked for
};

class Checks {
 public:
  // `measurer` and `watch` must outlive it.
  Checks(Verify which, measure::Measurer& measurer, Stopwatch& watch, Tell tell);

  // Those of a round that `which` asks for.
  Comparison begin_round(const TaskEntry& e, std::vector<task::Measurement> round) const;
  // One that is about to be the start of its task.
  Comparison begin_default(std::vector<task::Measurement> one) const;
  // Goes on as far as verdicts are known, or to the end where it may wait. True: it is at its end.
  bool advance(const TaskEntry& e, Comparison& c, bool wait);
  // The fastest first, until one is right.
  void check_finals(const TaskEntry& e, std::vector<task::Measurement>& ordered);

 private:
  void judge(const TaskEntry& e, task::Measurement& m, const measure::Verdict& v);

  Verify which_;
  measure::Measurer& measurer_;
  Stopwatch& watch_;
  Tell tell_;
};

}  // namespace tenon::tune
