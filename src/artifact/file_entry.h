// SPDX-License-Identifier: Apache-2.0
// A file of an artifact, as manifests list it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace tenon::artifact {

struct FileEntry {
  std::string name;  // relative to the folder
  int64_t bytes = 0;
  std::string sha256;
};
// Reads the file, or its first `limit` bytes.
FileEntry describe_file(const std::filesystem::path& folder, const std::string& name,
                        int64_t limit = std::numeric_limits<int64_t>::max());

}  // namespace tenon::artifact
