// SPDX-License-Identifier: Apache-2.0
// What a tuning run would work on, and what is known of it already: --dry-run, and the words in
// front of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/db.h"
#include "tools/tenon/json.h"
#include "tune/session.h"

namespace tenon::tools {

struct PlannedTask {
  std::string key, label, origin;
  std::vector<int64_t> calls;  // per model
  double flops = 0;
  bool chosen = true;            // by --tasks
  int64_t measured = 0;          // known: so many
  std::optional<double> best_s;  // known: the fastest verified
};

struct TunePlan {
  std::vector<std::string> models;
  std::vector<PlannedTask> tasks;  // those with the most work first
};

// `db` may be null: nothing is known. `target` is the measurer's word for the device.
TunePlan make_plan(const std::vector<tune::Model>& models, const tune::SessionOptions& options,
                   const db::Database* db, const std::string& target, const std::string& protocol);

std::string to_text(const TunePlan& plan);
Json to_json(const TunePlan& plan);
// "21 tasks of 52 kernels; 9 of them are known"
std::string headline(const TunePlan& plan);

}  // namespace tenon::tools
