// SPDX-License-Identifier: Apache-2.0
// Puts a finished folder in its place, so that whoever looks sees the old artifact or the new one.
#pragma once

#include <filesystem>

namespace tenon::artifact {

// A fresh folder beside `directory`, whose parent is made if need be.
std::filesystem::path make_sibling(const std::filesystem::path& directory);

// Moves `made` to `directory`. An artifact that stands there is replaced as a whole; in a folder that holds anything
// else, the files are moved in one by one and the rest is left alone. Throws UserError.
void install(const std::filesystem::path& made, const std::filesystem::path& directory);

}  // namespace tenon::artifact
