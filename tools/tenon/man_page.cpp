// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/man_page.h"

#include <fmt/format.h>

#include <sstream>

#include "tools/tenon/command.h"
#include "tools/tenon/help.h"
#include "tools/tenon/option_tree.h"

namespace tenon::tools {
namespace {

// Backslashes and hyphens mean something to man, dots and quotes at the begin of a line too.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string entry(std::string_view label, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", plain(label), plain(text));
}

std::string options_text(const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    text += entry(option_label(*option), option_about(*option));
  }
  return text;
}

std::string usage_text(const CLI::App& app) {
  const std::string line = usage(app).substr(std::string("usage: ").size());
  return fmt::format(".nf\n{}.fi\n", plain(line));
}

std::string arguments_text(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : positionals(app)) {
    text += entry(option->get_name(true, false), option->get_description());
  }
  return text;
}

std::string verbs_text(const CLI::App& app) {
  std::string text;
  for (const CLI::App* verb : app.get_subcommands({})) {
    text += fmt::format(".SS {}\n{}.PP\n{}\n{}{}", plain(verb->get_name()), usage_text(*verb),
                        plain(verb->get_description()), arguments_text(*verb),
                        options_text(visible_options(*verb)));
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string commands_text(const CLI::App& root) {
  std::string text = ".SH COMMANDS\n";
  for (const CLI::App* command : root.get_subcommands({})) {
    text += entry(fmt::format("tenon-{}(1)", command->get_name()), command->get_description());
  }
  return text;
}

std::string examples_text(const CLI::App& app) {
  return fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", plain(examples(app)));
}

std::string exit_text() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitRow& row : exit_rows()) {
    text += entry(fmt::format("{}", row.code), row.meaning);
  }
  return text;
}

std::string head(const std::string& name, const CLI::App& app) {
  return fmt::format(
      ".TH {} 1 \"\" \"tenon {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", name,
      TENON_VERSION, plain(name), plain(app.get_description()), usage_text(app));
}

std::string command_page(const std::string& name, const CLI::App& command, const CLI::App& root) {
  std::string text = head(name, command);
  if (const std::string details = row_of(command)->details; !details.empty()) {
    text += fmt::format(".SH DESCRIPTION\n{}\n", plain(details));
  }
  const std::string own = arguments_text(command) + options_text(visible_options(command));
  text += verbs_text(command) + (own.empty() ? "" : ".SH OPTIONS\n" + own);
  return text + ".SH GLOBAL OPTIONS\n" + options_text(visible_options(root)) +
         examples_text(command) + ".SH SEE ALSO\n.BR tenon (1)\n";
}

}  // namespace

std::map<std::string, std::string> man_pages(const CLI::App& root) {
  std::map<std::string, std::string> pages;
  pages["tenon.1"] = head("tenon", root) + commands_text(root) + ".SH OPTIONS\n" +
                     options_text(visible_options(root)) + ".SH SETTINGS\n" +
                     plain(settings_text()) + "\n" + examples_text(root) + exit_text();
  for (const CLI::App* command : root.get_subcommands({})) {
    const std::string name = "tenon-" + command->get_name();
    pages[name + ".1"] = command_page(name, *command, root);
  }
  return pages;
}

}  // namespace tenon::tools
