// SPDX-License-Identifier: Apache-2.0
// Good programs of tasks that were tuned before: those of a table that ships with tenon, and those of a database. What is
// recorded while they are asked for is seen, too: tasks of one run teach each other.
//
//   KnownPrograms known(read_table(text).tasks);
//   known.add_records(db, where);
//   known.nearest(task, 4)[0].programs[0].recipe;   // the best of the task that is most alike
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/db.h"
#include "history/likeness.h"
#include "history/recipe.h"
#include "history/records.h"

namespace tenon::history {

struct KnownProgram {
  Recipe recipe;
  double relative = 1;  // its time over that of the task's best; at least 1
};

struct KnownTask {
  std::string key, label;
  Likeness likeness;
  std::vector<KnownProgram> programs;  // best first
};

// The best `most` programs among the rows of a task that say their choices; none that is much slower than the best.
std::vector<KnownProgram> best_programs(const std::vector<task::Measurement>& rows,
                                        const Translator& of, size_t most);

// Not to be used by two threads at once.
class KnownPrograms {
 public:
  explicit KnownPrograms(std::vector<KnownTask> table = {}) : table_(std::move(table)) {}
  KnownPrograms(const KnownPrograms&) = delete;
  KnownPrograms& operator=(const KnownPrograms&) = delete;

  // The database must live as long. What cannot be read is left out.
  void add_records(const db::Database& db, Where where);

  // Up to `most` tasks that are alike, nearest first, each with programs. The task itself is among them only if the table
  // has it: its own records are known to whoever asks.
  std::vector<KnownTask> nearest(const task::Task& t, size_t most);

 private:
  struct Recorded {
    std::string label;
    Likeness likeness;
    std::unique_ptr<Translator> translator;  // null: the row cannot be read
  };
  struct Near {
    double distance;
    std::string key;
    const KnownTask* of_table;  // null: recorded
    const Recorded* recorded;
  };
  void renew();  // looks for tasks that are new in the database
  std::vector<Near> in_order(const task::Task& t) const;
  KnownTask read(const Near& n) const;

  std::vector<KnownTask> table_;
  const db::Database* db_ = nullptr;
  Where where_;
  std::map<std::string, Recorded> recorded_;  // by key as the row has it
};

}  // namespace tenon::history
