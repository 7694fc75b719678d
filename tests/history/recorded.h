// SPDX-License-Identifier: Apache-2.0
// A database in a folder of its own, with records of made-up times: something to learn from without a machine.
#pragma once

#include <memory>
#include <string>

#include "db/db.h"
#include "history/records.h"
#include "search/tasks.h"
#include "support/private_folder.h"

namespace tenon::history {

inline constexpr const char* kMachine = "here";
inline constexpr const char* kHow = "v1 threads=1 cold";

task::Task product(int64_t columns, int64_t depth = 32);

struct Recorded {
  PrivateFolder folder = PrivateFolder::temporary("history");
  std::string path = folder.path() / "t.db";
  std::unique_ptr<db::Database> db = db::Database::open(path);

  // `n` random programs of the task, with times that follow from what xgb sees of them.
  void add(const task::Task& t, size_t n, uint64_t seed = 1);
  void add_row(const task::Task& t);
  // One measurement as it is.
  void add(const task::Task& t, const std::string& trace, double seconds,
           task::Outcome outcome = task::Outcome::kOk);
};

Where where(const task::Task& t);

}  // namespace tenon::history
