// SPDX-License-Identifier: Apache-2.0
// tenon explain --why: which decisions the value function takes for a task, what it expects of them, and what else there was.
#pragma once

#include <string>

#include "tools/tenon/console.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

// `task`: the beginning of a key, a label, or a node of the model. Exit code 2 where there is no value function.
int explain_why(const ModelOptions& options, const std::string& task, const Console& console);

}  // namespace tenon::tools
