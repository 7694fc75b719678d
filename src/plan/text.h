// SPDX-License-Identifier: Apache-2.0
// A plan as text: the lock file of an artifact, what a tuning run reads when it goes on, what
// reports show. docs/artifacts.md lists the fields.
//
//   {"schema": "tenon.lock/2", "name": "net", "pairs": {"from": "measured", "calls": {"p1": "d1"}}, ..
#pragma once

#include <string>

#include "plan/plan.h"

namespace tenon::plan {

inline constexpr const char* kLockSchema = "tenon.lock/2";
inline constexpr const char* kFirstLockSchema = "tenon.lock/1";  // is still read

std::string to_text(const NetworkPlan& plan);

// `file` is named where something is wrong. Throws UserError for what is no plan; an entry that is
// damaged costs its task the program (TaskPlan::refused), and no other. What was refused when the
// plan was made was told then, and is not read.
NetworkPlan parse(const std::string& text, const std::string& file);

// A lock file, or a folder that holds one.
NetworkPlan read_lock(const std::string& path);

}  // namespace tenon::plan
