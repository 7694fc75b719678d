// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/helper_tools.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "support/check.h"

namespace tenon::tools {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::string find_helper_tool(const std::string& name, const std::string& given) {
  const auto runs = [](const fs::path& p) {
    std::error_code ignored;
    return fs::is_regular_file(p, ignored) && access(p.c_str(), X_OK) == 0;
  };
  if (!given.empty()) {
    if (!runs(given)) {
      throw UserError(given, 0, 0, "there is no such program");
    }
    return given;
  }
  const fs::path here = program_folder();
  if (runs(here / name)) {
    return (here / name).string();
  }
  throw UserError(
      fmt::format("{} is missing: it should lie beside {}", name, (here / "tenon").string()),
      "tuning compiles and times in other processes; install tenon as a whole");
}

}  // namespace tenon::tools
