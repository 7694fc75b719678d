// SPDX-License-Identifier: Apache-2.0
// Puts what was measured on disk before anything is shown, and reads what is there.
//
//   Recorder recorder(&db, run, watch, tell);
//   recorder.record(entry, measured);
#pragma once

#include <string>
#include <vector>

#include "db/db.h"
#include "tune/task_entry.h"

namespace tenon::tune {

class Recorder {
 public:
  // `db` may be null: nothing is kept. It and `watch` must outlive this.
  Recorder(db::Database* db, std::string run, Stopwatch& watch, Tell tell);

  // Lets the database know the task, and gives what it has of it on the measurer's machine.
  std::vector<task::Measurement> open(const task::Task& t, const measure::Measurer& measurer);
  // Under this run. What the machine failed to find out is told and forgotten. Throws UserError
  // where it finds out nothing any more.
  void record(const TaskEntry& e, std::vector<task::Measurement>& round);

 private:
  db::Database* db_;
  std::string run_;
  Stopwatch& watch_;
  Tell tell_;
  int64_t undecided_ = 0;  // in a row
};

}  // namespace tenon::tune
