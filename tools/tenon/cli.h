// SPDX-License-Identifier: Apache-2.0
// The command line as a function: arguments in, exit code out.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/console.h"
#include "tools/tenon/settings.h"

namespace tenon::tools {

// `args` are without the program's name. Never throws.
int run_cli(const std::vector<std::string>& args, const ConsoleOptions& surroundings,
            const GetEnv& env);

}  // namespace tenon::tools
