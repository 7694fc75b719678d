// SPDX-License-Identifier: Apache-2.0
// A folder of one process, which goes away with it. A marker inside names the folder, and its owner keeps the marker
// locked. What a killed process left is known by such a marker that nobody holds, and goes away when the next folder of
// its kind is made; nothing else is ever removed, whatever it is called.
//
//   const auto f = PrivateFolder::beside("reports/run.html");   =>  reports/.run.html-x7Hq2P/
//   const auto t = PrivateFolder::temporary("build");           =>  $TMPDIR/tenon-build-x7Hq2P/
#pragma once

#include <filesystem>
#include <string>

namespace tenon {

class PrivateFolder {
 public:
  // On the same disk as `destination`, so that a rename moves what was made inside to its place; what goes wrong is a
  // UserError about the destination.
  static PrivateFolder beside(const std::filesystem::path& destination);
  // Throws UserError as temporary_place does, or when no folder can be made there.
  static PrivateFolder temporary(const std::string& purpose);

  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  PrivateFolder& operator=(PrivateFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(const std::filesystem::path& pattern);  // ends in XXXXXX; leaves errno
  std::filesystem::path path_;                                   // empty: none could be made
  int marker_ = -1;                                              // holds the lock
};

// Removes the folder if it carries the marker and no process holds it any more. False: somebody does.
bool remove_if_abandoned(const std::filesystem::path& folder);

// Where temporary folders are made: what TMPDIR names, or /tmp. Throws UserError that names it if that is no folder.
std::filesystem::path temporary_place();

}  // namespace tenon
