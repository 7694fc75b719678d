// SPDX-License-Identifier: Apache-2.0
// Schedules that were given serve tasks by their keys; a task without one gets a default, which whoever gave schedules
// wants to know.
#pragma once

#include "tools/tenon/model_options.h"

namespace tenon::tools {

// Where --lock or --db gave schedules: for how many tasks of the plan that was made there were some. Nothing is said where
// all have one.
void tell_misses(const ModelOptions& options, const plan::NetworkPlan& made,
                 const Console& console);

}  // namespace tenon::tools
