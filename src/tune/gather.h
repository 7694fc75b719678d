// SPDX-License-Identifier: Apache-2.0
// Measures many distinct programs of many tasks into a database, to learn from. Programs of several
// tasks are in flight at once, so that no core waits for one task's round. What is on record
// counts: to go on after a kill is to begin again. Failures are records too.
//
//   Gatherer gatherer(tasks, options, measurer, db, run, tell);
//   Gathered sum = gatherer.run(stop);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "db/db.h"
#include "measure/measure.h"
#include "tune/gather_task.h"
#include "tune/in_flight.h"

namespace tenon::tune {

struct Gathered {
  int64_t tasks = 0, complete = 0;          // complete: with all their programs
  int64_t measured = 0, failed = 0;         // now
  int64_t known = 0;                        // distinct programs of all tasks, with those of before
  int64_t refused = 0;                      // programs of a list that do not fit here
  int64_t verified = 0, wrong = 0;          // bests that were compared with the reference now
  std::map<std::string, int64_t> outcomes;  // of what was measured now
};

class Gatherer {
 public:
  // `tell` is called after every batch. A fault that ends one task alone goes to `warn`.
  Gatherer(std::vector<TaskToGather> tasks, const GatherOptions& options,
           measure::Measurer& measurer, db::Database& db, std::string run,
           std::function<void(const Gathered&)> tell, std::function<void(const std::string&)> warn);

  // Until all tasks are complete, or `stop` says so; then what is in flight comes to its end.
  const Gathered& run(const std::function<bool()>& stop);
  // Compares the best of each task that is not complete with the reference: at the end of a run
  // whose time is up.
  void verify_open(const std::function<bool()>& stop);

 private:
  void open_next();
  void fill();
  bool begin_batch(size_t task);
  void finish_batch();
  void record(const std::vector<task::Measurement>& batch);
  void close(size_t task, bool complete);
  void verify_best(GatherTask& t);
  std::vector<task::Measurement> records_of(const task::Task& t) const;

  std::vector<TaskToGather> given_;
  GatherOptions options_;
  measure::Measurer& measurer_;
  db::Database& db_;
  std::string run_;
  std::function<void(const Gathered&)> tell_;
  std::function<void(const std::string&)> warn_;
  InFlight in_flight_;
  size_t next_ = 0;  // of those given, to be opened
  std::map<size_t, std::unique_ptr<GatherTask>> open_;
  std::set<size_t> busy_;  // with a batch in flight
  int64_t undecided_ = 0;  // in a row
  Gathered sum_;
};

}  // namespace tenon::tune
