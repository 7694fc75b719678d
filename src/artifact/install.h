// SPDX-License-Identifier: Apache-2.0
// Puts a finished folder in its place, so that whoever looks sees the old artifact or the new one.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::artifact {

// A fresh folder beside `directory`, whose parent is made if need be; it goes away with this unless it was moved. Those
// that killed processes left there more than a minute ago go away too. Throws UserError.
class Sibling {
 public:
  explicit Sibling(const std::filesystem::path& directory);
  ~Sibling();
  Sibling(const Sibling&) = delete;
  Sibling& operator=(const Sibling&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // held as long as somebody works on the folder
};

// Moves `made`, which holds the artifact `name`, to `directory`. An older artifact of that name is
// replaced as a whole; in a folder that holds anything else too, the files are moved in one by one and
// the rest is left alone. Throws UserError.
void install(const std::filesystem::path& made, const std::filesystem::path& directory,
             const std::string& name);

}  // namespace tenon::artifact
