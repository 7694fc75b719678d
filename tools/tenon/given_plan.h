// SPDX-License-Identifier: Apache-2.0
// Schedules that --lock gives to the target that is compiled for now.
//
//   --target x86-64-v2,x86-64-v4 --lock net.lock, which is of x86-64-v4    =>    nothing for the first
#pragma once

#include <string>

#include "plan/plan.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

// An empty plan without --lock, and where the file is of other targets of the library. That is an error under --frozen, which
// ends in exit code 8, unless records have schedules.
plan::NetworkPlan locked_plan(const ModelOptions& options);

// "x86-64-v2: " before a sentence about one target of a library for several; empty otherwise.
std::string target_prefix(const ModelOptions& options);

}  // namespace tenon::tools
