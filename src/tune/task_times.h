// SPDX-License-Identifier: Apache-2.0
// The best times of single tasks, for stages that compare them: each is tuned once, with as many
// trials as every other.
//
//   TaskTimes times(tuner_options, 16, 2, measurer, db, run, tell);
//   if (times.seconds_of(joined, stop) < times.seconds_of(apart, stop)) ..
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tune/tuner.h"

namespace tenon::tune {

class TaskTimes {
 public:
  // `trials` of each task, measured in so many rounds. `db` may be null. Only what went wrong is
  // told, and that there is more to count: rounds are these tasks' own business.
  TaskTimes(const TunerOptions& tuner, int64_t trials, int64_t rounds, measure::Measurer& measurer,
            db::Database* db, std::string run, Tell tell);

  // Infinity: nothing of it ran. What `stop` cut short is not known afterwards.
  double seconds_of(const TaskToTune& t, const std::function<bool()>& stop);
  bool knows(const std::string& key) const { return known_.contains(key); }
  int64_t measured() const { return measured_; }  // by this object

 private:
  TunerOptions tuner_;
  measure::Measurer& measurer_;
  db::Database* db_;
  std::string run_;
  Tell tell_;
  std::map<std::string, double> known_;  // seconds by key
  int64_t measured_ = 0;
};

}  // namespace tenon::tune
