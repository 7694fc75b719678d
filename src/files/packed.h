// SPDX-License-Identifier: Apache-2.0
// Files that are packed by Zstandard, as zstd(1) writes and reads them.
//
//   write_maybe_packed("records.jsonl.zst", text);
//   read_maybe_packed("records.jsonl.zst") == text;
#pragma once

#include <string>
#include <string_view>

namespace tenon::files {

std::string packed(std::string_view bytes);
// One frame or several, one after the other. Throws UserError that begins with `name`: damaged or cut off.
std::string unpacked(std::string_view bytes, const std::string& name);

// By how the file begins, whatever its name. Throws UserError.
std::string read_maybe_packed(const std::string& path);
// Packed if the name ends in .zst. Throws UserError.
void write_maybe_packed(const std::string& path, std::string_view bytes);

}  // namespace tenon::files
