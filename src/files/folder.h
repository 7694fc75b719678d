// SPDX-License-Identifier: Apache-2.0
// Folders that a user names. What goes wrong is a UserError with the folder's name.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::files {

// Makes the folder with all its parents, unless it is there.
void make_folder(const std::filesystem::path& folder, const std::string& hint = "");

}  // namespace tenon::files
