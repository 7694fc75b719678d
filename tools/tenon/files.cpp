// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "support/check.h"

namespace tenon::tools {

std::string read_text(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (in) {
    text << in.rdbuf();
  }
  // A folder opens well and fails at the first read.
  if (!in || in.bad() || (text.fail() && errno != 0)) {
    throw UserError(file, 0, 0, std::string("cannot be read: ") + std::strerror(errno));
  }
  return text.str();
}

std::string display_name(const std::string& file) { return file == "-" ? "stdin" : file; }

}  // namespace tenon::tools
