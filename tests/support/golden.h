// SPDX-License-Identifier: Apache-2.0
// Golden files hold several texts, one after the other.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace tenon {

// The parts of `text` between the lines that begin with `line`.
inline std::vector<std::string> cut(const std::string& text, const std::string& line) {
  std::vector<std::string> out{""};
  std::istringstream in(text);
  for (std::string l; std::getline(in, l);) {
    if (l.starts_with(line)) {
      out.emplace_back();
    } else {
      out.back() += l + "\n";
    }
  }
  return out;
}

}  // namespace tenon
