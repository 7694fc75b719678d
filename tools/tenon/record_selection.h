// SPDX-License-Identifier: Apache-2.0
// Which records of a database a command works on: --task, --target, --protocol, --run.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/db.h"
#include "history/task_history.h"
#include "target/target.h"

namespace tenon::tools {

struct SelectionOptions {
  std::string task;      // beginning of the key, or glob over the label
  std::string target;    // "host", or a part of the fingerprint
  std::string protocol;  // a part of its text: "threads=2"
  std::string run;       // beginning of its id, or "last"
  bool any() const { return !(task + target + protocol + run).empty(); }
};
void add_selection_options(CLI::App& command, SelectionOptions& options);
// --target and --protocol alone.
void add_machine_options(CLI::App& command, SelectionOptions& options);
// Whether an option --target means the fingerprint.
bool matches_target(const std::string& fingerprint, const std::string& text);

// Only times of one key compare.
struct RecordKey {
  std::string task, target, protocol;
  auto operator<=>(const RecordKey&) const = default;
};

struct Selection {
  std::vector<db::TaskRow> tasks;  // without --target, --protocol, --run also those never measured
  std::map<RecordKey, std::vector<db::Group>> keys;
  std::string run;  // whole id; empty: any

  bool has(const task::Measurement& m) const;
  std::vector<RecordKey> keys_of(const std::string& task) const;
};

// Throws UserError for an option that nothing in the database answers to.
Selection select(const db::Database& db, const SelectionOptions& options);

// The target that records on this machine name so; null: another machine's.
std::shared_ptr<const target::Target> target_here(const std::string& measured);

// What is known of a key, from the runs that were selected.
history::TaskHistory history_of(const db::Database& db, const Selection& selection,
                                const RecordKey& key);

// The one task whose key begins so, or that has this label; throws UserError with the nearest.
const db::TaskRow& find_task(const std::vector<db::TaskRow>& tasks, const std::string& name);

// Failures and all, by outcome.
struct Tally {
  int64_t measured = 0, failed = 0, verified = 0;
  std::map<std::string, int64_t> outcomes;
  void add(const db::Group& g);
};

// What a key has: its tally, and its best, verified where there is such.
struct KeyEntry {
  RecordKey key;
  Tally tally;
  std::optional<task::Measurement> best;
};
struct TaskEntry {
  db::TaskRow task;
  std::vector<KeyEntry> keys;
};
std::vector<TaskEntry> task_entries(const db::Database& db, const Selection& selection);

}  // namespace tenon::tools
