// SPDX-License-Identifier: Apache-2.0
// Runs as a tuner would have left them in a database, made up from a seed: real tasks, real traces, pretended times.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "db/db.h"

namespace tenon::report {

// A label as a model may bring it along.
inline constexpr const char* kHostileLabel = "<script>document.title='owned'</script>\"'&";

enum class Kind {
  kWhole,         // tuned, compared, ended
  kTwoModels,     // the same for two networks, in two parts
  kCutOff,        // killed in the middle
  kNoRounds,      // killed while the defaults were measured
  kOnlyFailures,  // nothing could be measured
  kEmpty,         // a run without any event
};
inline constexpr Kind kKinds[] = {Kind::kWhole,    Kind::kTwoModels,    Kind::kCutOff,
                                  Kind::kNoRounds, Kind::kOnlyFailures, Kind::kEmpty};
const char* name_of(Kind kind);

// Returns its id.
std::string add_sample_run(db::Database& db, Kind kind, uint64_t seed = 1);

// A database in a folder that is removed with it.
class SampleDatabase {
 public:
  SampleDatabase();
  ~SampleDatabase();
  SampleDatabase(const SampleDatabase&) = delete;
  SampleDatabase& operator=(const SampleDatabase&) = delete;
  db::Database& operator*() { return *db_; }
  db::Database* operator->() { return db_.get(); }
  std::string file() const { return (folder_ / "tenon.db").string(); }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<db::Database> db_;
};

}  // namespace tenon::report
