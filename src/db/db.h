// SPDX-License-Identifier: Apache-2.0
// Records in SQLite (write-ahead log): tasks, measurements, runs. Append-only; what record() returned from is on disk.
// Key of a measurement: task, target fingerprint, protocol, trace. db/records.h carries them from file to file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/busy.h"
#include "db/claim.h"
#include "task/record.h"

namespace tenon::db {

struct TaskRow {
  std::string key, te, edges, label;
  double flops = 0;
};
struct RunRow {
  std::string id, command, model, started,
      finished;  // times as ISO 8601; finished empty: cut off or going on
  int64_t measured = 0, failed = 0;
};
// What a run told while it went on, one JSON object each; docs/tuning.md lists them.
struct EventRow {
  double at_s = 0;  // tuning time of the run so far, over all its parts
  std::string json;
};
struct Filter {  // empty: any
  std::string task, target, protocol, run;
};

// Rows of any kind, as they go from one database to another.
struct RunEvent {
  std::string run;
  EventRow event;
};
struct Rows {
  std::vector<TaskRow> tasks;
  std::vector<RunRow> runs;  // measured and failed follow from the measurements
  std::vector<RunEvent> events;
  std::vector<task::Measurement> measurements;
};
struct Added {
  int64_t tasks = 0, runs = 0, events = 0, measurements = 0;
  int64_t known = 0;  // rows that were there before, field by field
};

// Measurements of one task, target, protocol, run and outcome, counted.
struct Group {
  std::string task, target, protocol, run;
  task::Outcome outcome = task::Outcome::kOk;
  int64_t count = 0, verified = 0;
  double build_s = 0, run_s = 0;  // sums
  int64_t first = 0, last = 0;    // seconds since 1970
};

class Database {
 public:
  // Creates the file, or opens it and migrates an older schema. Throws UserError: read-only, corrupt, newer schema, no room;
  // Busy once `while_busy` gives up.
  static std::unique_ptr<Database> open(const std::string& path, WhileBusy while_busy = {});
  static std::unique_ptr<Database> open_read_only(const std::string& path,
                                                  WhileBusy while_busy = {});
  virtual ~Database() = default;

  virtual void add_task(const TaskRow& t) = 0;  // again: nothing
  // The runs of this command are the caller's while the claim lives. Throws UserError while another has it.
  virtual std::unique_ptr<RunClaim> claim_runs(const std::string& command,
                                               const std::string& model) const = 0;
  virtual std::string begin_run(const std::string& command, const std::string& model) = 0;
  virtual void end_run(const std::string& id) = 0;
  // Rerun is resume: the newest run of this command that is `mine`, if it was cut off.
  virtual std::optional<RunRow> unfinished(
      const std::string& command, const std::string& model,
      const std::function<bool(const RunRow&)>& mine) const = 0;
  virtual void add_event(const std::string& run, const EventRow& e) = 0;
  virtual std::vector<EventRow> events(const std::string& run) const = 0;  // oldest first
  virtual void record(const std::vector<task::Measurement>& m) = 0;        // one transaction
  // One after the other, all or nothing, in one transaction. A row that is there already is left out; one that occurs in
  // a part more often than it is there is added as often as it lacks.
  virtual Added add(const std::vector<Rows>& parts) = 0;

  // Oldest first. A row whose list of times cannot be read is kRefused, whatever it says, with task::kDamaged.
  virtual std::vector<task::Measurement> measurements(const Filter& f) const = 0;
  // The fastest that is verified (or any, when asked).
  virtual std::optional<task::Measurement> best(const Filter& f, bool verified_only) const = 0;
  virtual std::vector<TaskRow> tasks() const = 0;
  virtual std::vector<RunRow> runs() const = 0;
  virtual std::vector<Group> groups(const Filter& f) const = 0;  // by task, target, protocol, ...

  virtual int schema_version() const = 0;  // of the file
  virtual std::string check() const = 0;   // empty: sound
  // Removes failures and all but the fastest `keep` of each task, target and protocol; returns how many rows went. The
  // fastest that is verified always stays, and so does what was found wrong: it must not come back.
  virtual int64_t prune(const Filter& f, int64_t keep) = 0;
  virtual int64_t prunable(const Filter& f, int64_t keep) const = 0;  // how many would go
  // Makes the file as small as its rows. Left undone while others use it, or where there is no room to do it.
  virtual void compact() = 0;
};

}  // namespace tenon::db
