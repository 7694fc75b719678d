// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace tenon::tools {

struct License {
  std::string_view name;     // "LLVM"
  std::string_view license;  // SPDX expression
  std::string_view use;      // what tenon does with it
  std::string_view text;     // the notice in full
};

// Tenon first, then what its binary contains or loads. The texts are made at configure time from LICENSE and from
// the copyright files of the packages that are linked.
std::span<const License> license_rows();

}  // namespace tenon::tools
