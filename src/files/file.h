// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. "-" is standard input or output. What goes wrong is a UserError with the file's name.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "support/check.h"

namespace tenon::files {

std::string read_file(const std::string& path);

// Readers see the old file or the new one, never half of it. A link is replaced, not followed; devices and pipes, and
// whatever lies in /dev or /proc, are written as they are.
void write_file(const std::string& path, std::string_view bytes);

// The same for what is written by others: `write` gets the name of a file that does not exist yet, in a folder that
// nobody else can look into; when it returns, that file is moved to its place.
void replace_file(const std::string& path, const std::function<void(const std::string&)>& write);

// A new file whose name nobody could guess: "/tmp/report-XXXXXX.txt" gives "/tmp/report-x7Hq2P.txt", for the user alone.
std::string write_new_file(const std::string& pattern, std::string_view bytes);

// Whoever read standard output is there no more: there is nobody to complain to.
class ReaderLeft : public UserError {
 public:
  using UserError::UserError;
};
// All of it, at once. Throws ReaderLeft or UserError.
void write_stdout(std::string_view bytes);

// How messages name it: "stdin" for "-".
std::string display_name(const std::string& path);

}  // namespace tenon::files
