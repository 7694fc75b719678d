// SPDX-License-Identifier: Apache-2.0
// Zip archives as far as .npz needs them: members stored or deflated, no encryption, no parts, below 4 GiB.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::files {

struct ZipMember {
  std::string name;
  std::string bytes;
};

enum class Compression { kStored, kDeflated };

// Members in the order of the archive's directory; checksums are verified. `name` is the archive's, for messages.
std::vector<ZipMember> parse_zip(std::string_view bytes, const std::string& name);

// The same members give the same bytes: all dates are 1980-01-01.
std::string zip_bytes(const std::vector<ZipMember>& members, Compression compression);

}  // namespace tenon::files
