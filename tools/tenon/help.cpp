// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "tools/tenon/command.h"
#include "tools/tenon/option_tree.h"

namespace tenon::tools {
namespace {

constexpr int kLabelWidth = 26;

// Words of `text` in lines that fit, the first beginning at column `used`, the others at `indent`.
std::string wrap(const std::string& text, int used, int indent, int columns) {
  std::istringstream words(text);
  std::string out;
  int at = used;
  for (std::string word; words >> word;) {
    const int length = static_cast<int>(word.size());
    if (at > indent && at + 1 + length > columns) {
      out += "\n" + std::string(static_cast<size_t>(indent), ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += length;
  }
  return out;
}

std::string entry(const std::string& label, const std::string& text, int columns) {
  std::string line = "  " + label;
  if (static_cast<int>(line.size()) + 2 > kLabelWidth) {
    line += "\n" + std::string(kLabelWidth, ' ');
  } else {
    line.resize(kLabelWidth, ' ');
  }
  return line + wrap(text, kLabelWidth, kLabelWidth, columns) + "\n";
}

std::string options_text(const std::vector<const CLI::Option*>& options, int columns) {
  std::string text;
  for (const CLI::Option* option : options) {
    text += entry(option_label(*option), option_about(*option), columns);
  }
  return text;
}

std::string subcommands_text(const CLI::App& app, int columns) {
  std::string text;
  for (const CLI::App* sub : app.get_subcommands({})) {
    text += entry(sub->get_name(), sub->get_description(), columns);
  }
  return text.empty() ? "" : "\ncommands:\n" + text;
}

std::string examples_text(const CLI::App& app) {
  std::istringstream lines(examples(app));
  std::string text = "\nexamples:\n";
  for (std::string line; std::getline(lines, line);) {
    text += "  " + line + "\n";
  }
  return text;
}

std::string head(const CLI::App& app, int columns) {
  std::string text = usage(app) + wrap(app.get_description(), 0, 0, columns) + "\n";
  if (const auto named = positionals(app); !named.empty()) {
    text += "\n";
    for (const CLI::Option* option : named) {
      std::string name = option->get_name(true, false);
      std::transform(name.begin(), name.end(), name.begin(), ::toupper);
      text += entry(name, option->get_description(), columns);
    }
  }
  return text;
}

}  // namespace

const CommandRow* row_of(const CLI::App& app) {
  const CLI::App* at = &app;
  while (at->get_parent() != nullptr && at->get_parent()->get_parent() != nullptr) {
    at = at->get_parent();
  }
  return at->get_parent() == nullptr ? nullptr : find_command(at->get_name());
}

std::string usage(const CLI::App& app) {
  std::string line = "usage: " + full_name(app);
  if (!visible_options(app).empty() || app.get_parent() == nullptr) {
    line += " [OPTIONS]";
  }
  if (!app.get_subcommands({}).empty()) {
    line += " COMMAND";
  }
  for (const CLI::Option* option : positionals(app)) {
    std::string name = option->get_name(true, false);
    std::transform(name.begin(), name.end(), name.begin(), ::toupper);
    name += option->get_items_expected_max() > 1 ? "..." : "";
    line += option->get_required() ? " " + name : " [" + name + "]";
  }
  return line + "\n";
}

std::string option_about(const CLI::Option& option) {
  const std::string& usual = option.get_default_str();
  return option.get_description() + (usual.empty() ? "" : fmt::format(" (default: {})", usual));
}

std::string examples(const CLI::App& app) {
  const CommandRow* row = row_of(app);
  return row != nullptr ? row->examples
                        : "tenon zoo write resnet18\n"
                          "tenon check resnet18.onnx\n"
                          "tenon compile resnet18.onnx -o out/";
}

std::string settings_text() {
  return "Any long option can also be set as TENON_OPTION in the environment or in a file: "
         "./tenon.toml, then $XDG_CONFIG_HOME/tenon/config.toml. The command line wins, then the "
         "environment, then the first file.";
}

std::string short_help(const CLI::App& app, int columns) {
  std::string text = head(app, columns) + subcommands_text(app, columns);
  if (app.get_parent() != nullptr && !visible_options(app).empty()) {
    text += "\noptions:\n" + options_text(visible_options(app), columns);
  }
  text += examples_text(app);
  return text + fmt::format("\n{} --help says more.\n", full_name(app));
}

std::string full_help(const CLI::App& app, int columns) {
  std::string text = head(app, columns);
  if (const CommandRow* row = row_of(app); row != nullptr && row->details[0] != '\0') {
    text += "\n" + wrap(row->details, 0, 0, columns) + "\n";
  }
  text += subcommands_text(app, columns);
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) {
    root = root->get_parent();
  }
  if (root != &app && !visible_options(app).empty()) {
    text += "\noptions:\n" + options_text(visible_options(app), columns);
  }
  text += "\nglobal options:\n" + options_text(visible_options(*root), columns);
  text += examples_text(app) + "\nexit codes:\n";
  for (const ExitRow& row : exit_rows()) {
    text += entry(fmt::format("{}", row.code), std::string(row.meaning), columns);
  }
  return text + "\nsettings:\n" + wrap(settings_text(), 0, 0, columns) + "\n";
}

}  // namespace tenon::tools
