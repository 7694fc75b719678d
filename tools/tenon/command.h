// SPDX-License-Identifier: Apache-2.0
// A command of `tenon`: adds its options to the parser and says what to run once they are parsed.
// The answer goes to stdout, everything else to stderr. A run function returns the exit code or throws:
// UserError ends in code 2, anything else in code 70.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace tenon::tools {

constexpr int kExitUserError = 2;
constexpr int kExitInternalError = 70;

using Run = std::function<int()>;
// Options must live as long as the function that reads them: share them with the returned Run.
using AddCommand = Run (*)(CLI::App& command);

Run add_bench(CLI::App& command);
Run add_explain(CLI::App& command);
Run add_version(CLI::App& command);

}  // namespace tenon::tools
