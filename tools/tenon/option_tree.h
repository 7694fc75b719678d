// SPDX-License-Identifier: Apache-2.0
// Questions about the parser's tree of commands and options: help, completion and settings are made from it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tenon::tools {

// nullptr if there is none.
const CLI::App* find_subcommand(const CLI::App& app, const std::string& name);
std::vector<std::string> subcommand_names(const CLI::App& app);

// "tenon db ls", as it is typed.
std::string full_name(const CLI::App& app);

// "-o,--output FILE" without what belongs to the parser.
std::string option_label(const CLI::Option& option);
// Words that an option's value can be, where it is one of a list.
std::vector<std::string> option_choices(const CLI::Option& option);
// Options that people may use, in order; positionals apart.
std::vector<const CLI::Option*> visible_options(const CLI::App& app);
std::vector<const CLI::Option*> positionals(const CLI::App& app);

}  // namespace tenon::tools
