// SPDX-License-Identifier: Apache-2.0
// What a tuning run decided about a model at its end, when whole networks were compared. Its records may well be faster
// one by one and yet not make the network faster: whoever builds the model from the database follows the verdict.
//
//   if (const auto v = last_verdict(db, {"net", machine, protocol})) v->plan.find(key);
#pragma once

#include <map>
#include <optional>
#include <string>

#include "db/db.h"
#include "plan/plan.h"

namespace tenon::tune {

struct Verdict {
  struct Default {
    std::string trace, origin;  // as JSON, and who made it
  };
  std::string run;         // its id
  plan::NetworkPlan plan;  // pairs, layouts and programs that were kept; the rest follows the rules
  // Tasks that the run measured: those without a program above keep their defaults, which are here where they ran.
  std::map<std::string, Default> tasks;
};

struct JudgedWhere {
  std::string model;              // its name
  std::string machine, protocol;  // as measurements name them
};

// Of the last run that came to its end; nothing: there is none that can be read.
std::optional<Verdict> last_verdict(const db::Database& db, const JudgedWhere& where);

}  // namespace tenon::tune
