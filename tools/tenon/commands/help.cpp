// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/help.h"

#include <fmt/format.h>

#include <memory>

#include "support/nearest.h"
#include "tools/tenon/command.h"
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

}  // namespace

Run add_help(CLI::App& command, Console& console) {
  const auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("command", *words, "What to explain, such as bench or zoo write");
  command.fallthrough(false);  // or `tenon help bench` would run bench
  return [&command, &console, words] {
    console.answer(full_help(find_app(*command.get_parent(), *words), console.columns()));
    return kExitOk;
  };
}

}  // namespace tenon::tools
