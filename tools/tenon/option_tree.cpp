// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/option_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace tenon::tools {

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (sub->get_name() == name) {
      return sub;
    }
  }
  return nullptr;
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) {
    names.push_back(sub->get_name());
  }
  return names;
}

std::string option_label(const CLI::Option& option) {
  std::string label = option.get_name(false, true);
  if (const size_t comma = label.find(','); comma != std::string::npos) {
    label.insert(comma + 1, " ");
  }
  if (option.get_items_expected_max() == 0) {
    return label;
  }
  const auto choices = option_choices(option);
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));
  if (!choices.empty() && choices.size() <= 5) {
    type = fmt::format("{}", fmt::join(choices, "|"));
  }
  return label + " " + type;
}

std::vector<std::string> option_choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}');
  std::vector<std::string> words;
  if (open != std::string::npos && close != std::string::npos) {
    std::istringstream list(type.substr(open + 1, close - open - 1));
    for (std::string word; std::getline(list, word, ',');) {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<const CLI::Option*> visible_options(const CLI::App& app) {
  return app.get_options([&app](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty() &&
           option != app.get_help_ptr() && option != app.get_help_all_ptr();
  });
}

std::vector<const CLI::Option*> positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

}  // namespace tenon::tools
