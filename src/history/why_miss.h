// SPDX-License-Identifier: Apache-2.0
// Why a database has no record that a task could use, field by field.
//
//   same task, measured with 4 threads, wanted for 2   =>   protocol: threads wanted 2, recorded 4
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/db.h"
#include "target/target.h"

namespace tenon::history {

struct Wanted {
  db::TaskRow task;
  std::shared_ptr<const target::Target> compiled_for;
  std::string target;  // as measurements name it
  std::string protocol;
};

struct FieldDifference {
  std::string field, wanted, recorded;
};

struct Miss {
  // "hit", or the first of these that holds: "refused" (by task::serve), "unverified", "failed",
  // "protocol", "target", "layouts" (the same computation, its tensors stored otherwise),
  // "never-measured", "unknown".
  std::string reason;
  std::string what;  // a sentence
  std::vector<FieldDifference> differences;
  // Key of the task that was compared with. Empty: the task itself, or nothing is near.
  std::string nearest;
  double median_s = 0;  // "hit": of the record
};

Miss why_miss(const db::Database& db, const std::vector<db::TaskRow>& tasks,
              const std::vector<db::Group>& groups, const Wanted& wanted);

}  // namespace tenon::history
