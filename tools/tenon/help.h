// SPDX-License-Identifier: Apache-2.0
// Help texts, made from the tree of options that the parser uses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tenon::tools {

struct CommandRow;

// What `tenon -h` and `tenon CMD -h` print: usage, one line per option, examples.
std::string short_help(const CLI::App& app, int columns);
// What --help and `tenon help CMD` print: all of it, with global options and exit codes.
std::string full_help(const CLI::App& app, int columns);

// Their parts, for other forms of the same: "usage: tenon compile [OPTIONS] MODEL\n", an option's description with its
// default, examples one per line, and where options come from besides the command line.
std::string usage(const CLI::App& app);
std::string option_about(const CLI::Option& option);
std::string examples(const CLI::App& app);
std::string settings_text();

// The row of the command that `app` is or lies under; null for the root.
const CommandRow* row_of(const CLI::App& app);

}  // namespace tenon::tools
