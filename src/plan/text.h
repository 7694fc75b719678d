// SPDX-License-Identifier: Apache-2.0
// A plan as text: the lock file of an artifact, what a tuning run reads when it goes on, what
// reports show. docs/artifacts.md lists the fields.
//
//   {"schema": "tenon.lock/2", "name": "net", "pairs": {"from": "measured", "calls": {"p1": "d1"}}, ..
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace tenon::plan {

inline constexpr const char* kLockSchema = "tenon.lock/2";
inline constexpr const char* kFirstLockSchema = "tenon.lock/1";  // is still read

std::string to_text(const NetworkPlan& plan);
// Of a library for several instruction sets: the plan of the best, which is the last, with the others as its "levels".
std::string to_text(const std::vector<NetworkPlan>& levels);

// `file` is named where something is wrong. Throws UserError for what is no plan; an entry that is
// damaged costs its task the program (TaskPlan::refused), and no other. What was refused when the
// plan was made was told then, and is not read.
NetworkPlan parse(const std::string& text, const std::string& file);
// Each level of it, the best last; a plan without levels is the only one.
std::vector<NetworkPlan> parse_levels(const std::string& text, const std::string& file);

// A lock file, or a folder that holds one: the level of a target (plan::target_name), or the best where none is of it.
NetworkPlan read_lock(const std::string& path, const std::string& target = "");
// The same for one of the targets of a library, the best of which is the last. Schedules of one target are not given to another
// one of the library, for what is fast there is slow here. Where a file is of none of them, the best gets it. Nothing: this
// target gets none of it.
std::optional<NetworkPlan> read_level(const std::string& path, const std::string& target,
                                      const std::vector<std::string>& targets);

}  // namespace tenon::plan
