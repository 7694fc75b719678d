// SPDX-License-Identifier: Apache-2.0
#include "db/find_run.h"

#include <fmt/format.h>

#include <vector>

#include "support/check.h"
#include "support/nearest.h"

namespace tenon::db {

std::string find_run(const Database& db, const std::string& text) {
  const std::vector<RunRow> runs = db.runs();
  if (runs.empty()) {
    throw UserError("this database has no run", "tenon tune MODEL makes one");
  }
  if (text.empty() || text == "last") return runs.back().id;
  std::vector<std::string> ids, fitting;
  for (const RunRow& r : runs) {
    ids.push_back(r.id);
    if (r.id.starts_with(text)) fitting.push_back(r.id);
  }
  if (fitting.size() == 1) return fitting[0];
  if (fitting.empty()) {
    throw UserError(fmt::format("there is no run '{}' in this database", text),
                    did_you_mean(text, ids, fmt::format("the newest is {}", ids.back())));
  }
  throw UserError(fmt::format("{} runs begin with '{}'", fitting.size(), text),
                  fmt::format("for example {} and {}", fitting[0], fitting[1]));
}

}  // namespace tenon::db
