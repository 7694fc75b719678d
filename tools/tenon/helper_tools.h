// SPDX-License-Identifier: Apache-2.0
// Where tenon-build and tenon-run are, and what ships with tenon: beside this program, wherever that was put.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "plan/network.h"
#include "target/target.h"
#include "task/task.h"

namespace tenon::tools {

// The folder that this program lies in.
std::filesystem::path program_folder();

// `given` wins if it is not empty. Throws UserError that says where it was looked for.
std::string find_helper_tool(const std::string& name, const std::string& given);

// The table of programs (history/program_table.h) for a target: ../share/tenon/programs/NAME.txt; empty where none
// ships. `given` wins if it is not empty. Throws UserError if that is no file.
std::string find_programs(const std::string& given, const target::Target& target);

// What that table has for a task of a GPU itself (plan::Options::known); empty where none ships. For CPUs the rules are as
// good as the table, which is for tasks that are alike.
std::function<std::vector<plan::KnownProgram>(const task::Task&)> shipped_programs(
    const target::Target& target);

}  // namespace tenon::tools
