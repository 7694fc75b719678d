// SPDX-License-Identifier: Apache-2.0
// All that a database knows of one target, task by task, whichever model, run or stage it came from.
//
//   const Records known = read_records(db, {target, measured_target(*target), protocol});
//   known.tasks[0].task;                  // as it was when it was measured
//   known.tasks[0].entries[0].seconds;    // the fastest program
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/db.h"
#include "space/choice.h"
#include "task/task.h"

namespace tenon::history {

// Times compare only where target and protocol are the same.
struct Where {
  std::shared_ptr<const target::Target> target;  // what tasks are made for
  std::string measured;                          // the target as measurements name it
  std::string protocol;
};

struct Entry {
  schedule::Trace trace;
  space::Choices choices;  // empty: the record does not say them
  double seconds = 0;      // median; infinity: it failed
  task::Outcome outcome = task::Outcome::kOk;
  bool verified = false;
};

// A task with programs that may serve it (task::serve), fastest first, then those that failed.
struct Known {
  task::Task task;
  std::vector<Entry> entries;
  // Of what is computed, whatever the layouts: what models learn worth by, and what is held out.
  std::string computation() const { return task::key_of(*task.dag); }
};

// More would teach little and cost time: reading and learning 10,000 records is to take seconds.
struct Limits {
  // Of one task: the fastest half, and of the rest as many as fit, evenly spread from fast to slow.
  size_t per_task = 256;
  // Of all together: where tasks are many, each gets fewer, but at least `least`.
  size_t total = 10000, least = 16;
  int threads = 0;  // 0: one per core
};

struct Records {
  std::vector<Known> tasks;  // by key
  int64_t rows = 0;          // of this target in the database, with those below
  int64_t left_out = 0;      // cannot be read, or may serve their task no more
  std::string why;           // of the first of those
  int64_t entries() const;
};

// The task of a row of the database. Throws UserError if its text is damaged or another task's.
task::Task task_of(const db::TaskRow& row, std::shared_ptr<const target::Target> target);

// Rows that cannot be used cost no other row anything. The same database gives the same records,
// whatever the number of threads.
Records read_records(const db::Database& db, const Where& where, const Limits& limits = {});
// Rows of this target, as Records::rows.
int64_t count_rows(const db::Database& db, const Where& where);

}  // namespace tenon::history
