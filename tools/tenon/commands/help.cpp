// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/help.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "files/file.h"
#include "files/folder.h"
#include "support/nearest.h"
#include "tools/tenon/command.h"
#include "tools/tenon/man_page.h"
#include "tools/tenon/option_tree.h"

namespace tenon::tools {
namespace {

const CLI::App& find_app(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  for (const std::string& word : words) {
    const CLI::App* next = find_subcommand(*app, word);
    if (next == nullptr) {
      const auto names = subcommand_names(*app);
      throw UserError(
          fmt::format("there is no command '{}'", word),
          did_you_mean(word, names, fmt::format("commands: {}", fmt::join(names, ", "))));
    }
    app = next;
  }
  return *app;
}

int write_pages(const CLI::App& root, const std::string& folder) {
  files::make_folder(folder);
  for (const auto& [name, page] : man_pages(root)) {
    files::write_file((std::filesystem::path(folder) / name).string(), page);
  }
  return kExitOk;
}

}  // namespace

Run add_help(CLI::App& command, Console& console) {
  const auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("command", *words, "What to explain, such as bench or zoo write");
  const auto folder = std::make_shared<std::string>();
  command.add_option("--man-pages", *folder, "Write pages for man(1) into a folder instead")
      ->type_name("DIR");
  command.fallthrough(false);  // or `tenon help bench` would run bench
  return [&command, &console, words, folder] {
    if (!folder->empty()) return write_pages(*command.get_parent(), *folder);
    console.answer(full_help(find_app(*command.get_parent(), *words), console.columns()));
    return static_cast<int>(kExitOk);
  };
}

}  // namespace tenon::tools
