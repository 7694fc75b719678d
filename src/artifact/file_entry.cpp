// SPDX-License-Identifier: Apache-2.0
#include "artifact/file_entry.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "support/sha256.h"

namespace tenon::artifact {

FileEntry describe_file(const std::filesystem::path& folder, const std::string& name,
                        int64_t limit) {
  std::ifstream in(folder / name, std::ios::binary);
  Sha256 sha;
  int64_t bytes = 0;
  std::vector<char> buffer(1 << 20);
  while (bytes < limit && in) {
    in.read(buffer.data(), std::min(limit - bytes, static_cast<int64_t>(buffer.size())));
    sha.add(buffer.data(), static_cast<size_t>(in.gcount()));
    bytes += in.gcount();
  }
  return {name, bytes, hex(sha.digest())};
}

}  // namespace tenon::artifact
