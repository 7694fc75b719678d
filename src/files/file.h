// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. "-" is standard input or output. What goes wrong is a UserError with the file's name.
#pragma once

#include <string>
#include <string_view>

namespace tenon::files {

std::string read_file(const std::string& path);

// Readers see the old file or the new one, never half of it.
void write_file(const std::string& path, std::string_view bytes);

// How messages name it: "stdin" for "-".
std::string display_name(const std::string& path);

}  // namespace tenon::files
