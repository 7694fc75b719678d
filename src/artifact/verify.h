// SPDX-License-Identifier: Apache-2.0
// Verifying tells whether the files of an artifact are still as they were written and belong together. It reads all
// of them, which running the model does not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::artifact {

struct FileState {
  std::string name;  // relative to the folder
  int64_t bytes = 0;
  std::string
      problem;  // a sentence without its subject, "has another hash than the manifest says"; empty: none
};

struct Verified {
  std::string name;  // of the model
  std::filesystem::path manifest;
  std::vector<FileState> files;
  // Why the library itself could not be asked, though its file is as written: for another machine, or none was emitted.
  std::string not_loaded;

  size_t problems() const;
};

// A folder, or a manifest in it. Throws UserError if there is no manifest to compare with.
Verified verify(const std::filesystem::path& path);

}  // namespace tenon::artifact
