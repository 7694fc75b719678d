// SPDX-License-Identifier: Apache-2.0
// The tuning of loops in a session: the tasks of its networks and the tuner that works on them.
//
//   loops.find();                      // what there is to tune
//   loops.begin(trials);
//   while (loops.step(stop)) {}
//   loops.programs_of(0);              // what was found for the first model
#pragma once

#include <memory>

#include "tune/contest.h"
#include "tune/networks.h"
#include "tune/session_parts.h"

namespace tenon::tune {

class Loops {
 public:
  // Both must outlive it.
  Loops(SessionParts& parts, const Networks& networks) : parts_(parts), networks_(networks) {}

  // The tasks of the networks as they are planned now. Times to compare with stay as they were.
  void find();
  // With so many trials, those included that were measured before; told as the beginning of a run.
  void begin(int64_t trials);
  // One round; see TaskTuner::step.
  bool step(const Stop& stop, int64_t trials);

  NetworkTasks found;

  TaskTuner& tuner() { return *tuner_; }
  bool begun() const { return tuner_ != nullptr; }
  // In this run, for tasks that are tuned now.
  int64_t measured() const;
  double gained_s() const { return gained_s_; }  // by all steps, of the networks' time
  double network_s() const;                      // of all networks, as far as it is known
  bool defaults_known() const;
  // What was found for the model's tasks.
  Programs programs_of(size_t m) const;

 private:
  SessionParts& parts_;
  const Networks& networks_;
  std::unique_ptr<TaskTuner> tuner_;
  double gained_s_ = 0;
};

}  // namespace tenon::tune
