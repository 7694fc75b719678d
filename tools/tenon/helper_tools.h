// SPDX-License-Identifier: Apache-2.0
// Where tenon-build and tenon-run are: beside this program, wherever that was put.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::tools {

// The folder that this program lies in.
std::filesystem::path program_folder();

// `given` wins if it is not empty. Throws UserError that says where it was looked for.
std::string find_helper_tool(const std::string& name, const std::string& given);

}  // namespace tenon::tools
