// SPDX-License-Identifier: Apache-2.0
#include "files/folder.h"

#include <system_error>

#include "support/check.h"

namespace tenon::files {

void make_folder(const std::filesystem::path& folder, const std::string& hint) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return;
  throw UserError(folder.string(), 0, 0, "this folder cannot be made: " + error.message(), hint);
}

}  // namespace tenon::files
