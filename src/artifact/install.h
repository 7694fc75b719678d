// SPDX-License-Identifier: Apache-2.0
// Puts a finished folder in its place, so that whoever looks sees the old artifact or the new one.
#pragma once

#include <filesystem>
#include <string>

#include "support/private_folder.h"

namespace tenon::artifact {

// A fresh folder on the disk of `directory`, whose parent is made if need be. It goes away with this unless it was moved;
// what killed processes left of such folders goes away too (see support/private_folder.h). Throws UserError.
class Sibling {
 public:
  explicit Sibling(const std::filesystem::path& directory);
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder folder_;
  std::filesystem::path path_;  // inside of it, so that its marker stays behind
};

// Moves `made`, which holds the artifact `name`, to `directory`. An older artifact of that name is replaced as a whole and
// lies in `made` afterwards; in a folder that holds anything else too, the files are moved in one by one and the rest is
// left alone. Throws UserError.
void install(const std::filesystem::path& made, const std::filesystem::path& directory,
             const std::string& name);

}  // namespace tenon::artifact
