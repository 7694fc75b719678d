// SPDX-License-Identifier: Apache-2.0
// Which records of a database somebody means: by task, target, protocol and run.
//
//   Selection s = select(db, {.task = "conv*", .protocol = "threads=2"});
//   for (const TaskRecords& t : records_of(db, s)) t.keys[0].best;
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/db.h"
#include "history/task_history.h"

namespace tenon::history {

struct SelectionOptions {
  std::string task = {};      // beginning of the key, or glob over the label
  std::string target = {};    // "host", or a part of the fingerprint
  std::string protocol = {};  // a part of its text: "threads=2"
  std::string run = {};       // beginning of its id, or "last"
  std::string host = {};      // the fingerprint that "host" means
  bool any() const { return !(task + target + protocol + run).empty(); }
};
// Whether the options mean the target that measurements name so.
bool matches_target(const std::string& fingerprint, const SelectionOptions& options);

// Only times of one key compare.
struct RecordKey {
  std::string task, target, protocol;
  auto operator<=>(const RecordKey&) const = default;
};

struct Selection {
  std::vector<db::TaskRow>
      tasks;  // of options without target, protocol and run also those never measured
  std::map<RecordKey, std::vector<db::Group>> keys;
  std::string run;  // whole id; empty: any

  bool has(const task::Measurement& m) const;
  std::vector<RecordKey> keys_of(const std::string& task) const;
};

// Throws UserError for an option that nothing in the database answers to.
Selection select(const db::Database& db, const SelectionOptions& options);

// What is known of a key, from the runs that were selected.
TaskHistory history_of(const db::Database& db, const Selection& selection, const RecordKey& key);

// The one task whose key begins so, or that has this label; throws UserError with the nearest.
const db::TaskRow& find_task(const std::vector<db::TaskRow>& tasks, const std::string& name);

// Failures and all, by outcome.
struct Tally {
  int64_t measured = 0, failed = 0, verified = 0;
  std::map<std::string, int64_t> outcomes;
  void add(const db::Group& g);
};

// What a key has: its tally, and its best, verified where there is such.
struct KeyRecords {
  RecordKey key;
  Tally tally;
  std::optional<task::Measurement> best;
};
struct TaskRecords {
  db::TaskRow task;
  std::vector<KeyRecords> keys;
};
std::vector<TaskRecords> records_of(const db::Database& db, const Selection& selection);

}  // namespace tenon::history
