// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/helper_tools.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "files/file.h"
#include "history/exact_programs.h"
#include "history/program_table.h"
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

std::string find_programs(const std::string& given, const target::Target& target) {
  std::error_code ignored;
  if (!given.empty()) {
    if (!fs::is_regular_file(given, ignored)) {
      throw UserError(given, 0, 0, "there is no such table of programs");
    }
    return given;
  }
  const fs::path file = program_folder().parent_path() / "share" / "tenon" / "programs" /
                        (history::table_name(target) + ".txt");
  return fs::is_regular_file(file, ignored) ? file.string() : "";
}

std::function<std::vector<plan::KnownProgram>(const task::Task&)> shipped_programs(
    const target::Target& target) {
  const std::string file = target.is_cpu() ? "" : find_programs("", target);
  if (file.empty()) return nullptr;
  const auto known = std::make_shared<const history::ExactPrograms>(
      history::read_table(files::read_file(file)).tasks);
  return [known](const task::Task& t) {
    std::vector<plan::KnownProgram> out;
    if (auto trace = known->find(t)) out.push_back({*std::move(trace), plan::From::kTable});
    return out;
  };
}

}  // namespace tenon::tools
