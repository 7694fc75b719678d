// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tools/tenon/option_tree.h"

namespace tenon::tools {
namespace {

std::vector<std::string> dashed_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Every command with the words that lead to it: {"zoo", "write"}; the root has none.
struct Level {
  std::vector<std::string> path;
  const CLI::App* app;
};

void collect(const CLI::App& app, std::vector<std::string> path, std::vector<Level>& levels) {
  levels.push_back({path, &app});
  for (const CLI::App* sub : app.get_subcommands({})) {
    path.push_back(sub->get_name());
    collect(*sub, path, levels);
    path.pop_back();
  }
}

std::vector<Level> levels_of(const CLI::App& root) {
  std::vector<Level> levels;
  collect(root, {}, levels);
  return levels;
}

bool takes_files(const CLI::App& app) {
  const auto named = positionals(app);
  return std::any_of(named.begin(), named.end(),
                     [](const CLI::Option* option) { return option_choices(*option).empty(); });
}

// What may follow at a level, except for files.
std::vector<std::string> words_of(const CLI::App& app, const CLI::App& root) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands({})) {
    words.push_back(sub->get_name());
  }
  for (const CLI::Option* option : positionals(app)) {
    const auto choices = option_choices(*option);
    words.insert(words.end(), choices.begin(), choices.end());
  }
  for (const CLI::App* level : {&app, &root}) {
    for (const CLI::Option* option : visible_options(*level)) {
      const auto names = dashed_names(*option);
      words.insert(words.end(), names.begin(), names.end());
    }
    if (level == &root || &app == &root) {
      break;
    }
  }
  return words;
}

std::string shell_quoted(std::string text) {
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 4)) {
    text.replace(at, 1, "'\\''");
  }
  return text;
}

// Brackets and colons divide the parts of a specification.
std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char c : shell_quoted(text)) {
    out += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  }
  return out;
}

std::string zsh_value(const CLI::Option& option) {
  if (!takes_value(option)) {
    return "";
  }
  const auto choices = option_choices(option);
  return choices.empty() ? ":value:_files" : fmt::format(":value:({})", fmt::join(choices, " "));
}

std::string zsh_arguments(const CLI::App& app, const CLI::App& root) {
  std::string text;
  for (const CLI::App* level : {&app, &root}) {
    for (const CLI::Option* option : visible_options(*level)) {
      for (const std::string& name : dashed_names(*option)) {
        text += fmt::format(" \\\n        '{}[{}]{}'", name, zsh_quoted(option->get_description()),
                            zsh_value(*option));
      }
    }
    if (&app == &root) {
      break;
    }
  }
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string text =
      "# bash completion for tenon\n"
      "_tenon() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" path='' "
      "word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$path/$word\" in\n";
  std::string paths;
  std::string cases;
  for (const Level& level : levels_of(root)) {
    const std::string path =
        level.path.empty() ? "" : fmt::format("/{}", fmt::join(level.path, "/"));
    if (!path.empty()) {
      paths += fmt::format("      {}) path='{}' ;;\n", path, path);
    }
    cases +=
        fmt::format("    '{}') words='{}'{} ;;\n", path, fmt::join(words_of(*level.app, root), " "),
                    takes_files(*level.app) ? "; files=1" : "");
  }
  text += paths + "    esac\n  done\n  case \"$path $prev\" in\n";
  for (const Level& level : levels_of(root)) {
    const std::string path =
        level.path.empty() ? "" : fmt::format("/{}", fmt::join(level.path, "/"));
    for (const CLI::App* app : {level.app, &root}) {
      for (const CLI::Option* option : visible_options(*app)) {
        if (!takes_value(*option)) {
          continue;
        }
        const auto choices = option_choices(*option);
        std::string patterns;
        for (const std::string& name : dashed_names(*option)) {
          patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : "|", path, name);
        }
        text += choices.empty()
                    ? fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n",
                                  patterns)
                    : fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n",
                                  patterns, fmt::join(choices, " "));
      }
      if (level.app == &root) {
        break;
      }
    }
  }
  return text + "  esac\n  local words='' files=''\n  case \"$path\" in\n" + cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
         "}\n"
         "complete -o filenames -F _tenon tenon\n";
}

std::string zsh_completion(const CLI::App& root) {
  std::string text =
      "#compdef tenon\n"
      "_tenon() {\n"
      "  local -a words_seen; local path='' word\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$path/$word\" in\n";
  std::string cases;
  for (const Level& level : levels_of(root)) {
    const std::string path =
        level.path.empty() ? "" : fmt::format("/{}", fmt::join(level.path, "/"));
    if (!path.empty()) {
      text += fmt::format("      {}) path='{}' ;;\n", path, path);
    }
    std::vector<std::string> plain;
    for (const std::string& word : words_of(*level.app, root)) {
      if (!word.starts_with("-")) {
        plain.push_back(word);
      }
    }
    const std::string rest =
        plain.empty() ? "*:file:_files" : fmt::format("*:word:({})", fmt::join(plain, " "));
    cases += fmt::format("    '{}')\n      _arguments{} \\\n        '{}' ;;\n", path,
                         zsh_arguments(*level.app, root), rest);
  }
  return text + "    esac\n  done\n  case \"$path\" in\n" + cases + "  esac\n}\n_tenon \"$@\"\n";
}

std::string fish_completion(const CLI::App& root) {
  std::string text = "# fish completion for tenon\n";
  for (const Level& level : levels_of(root)) {
    std::string condition = "__fish_use_subcommand";
    if (!level.path.empty()) {
      condition = fmt::format("__fish_seen_subcommand_from {}", level.path.back());
    }
    for (const CLI::App* sub : level.app->get_subcommands({})) {
      text += fmt::format("complete -c tenon -f -n '{}' -a {} -d '{}'\n", condition,
                          sub->get_name(), shell_quoted(sub->get_description()));
    }
    for (const CLI::Option* option : positionals(*level.app)) {
      if (const auto choices = option_choices(*option); !choices.empty()) {
        text += fmt::format("complete -c tenon -f -n '{}' -a '{}'\n", condition,
                            fmt::join(choices, " "));
      }
    }
    const std::string guard = level.path.empty() ? "" : fmt::format(" -n '{}'", condition);
    for (const CLI::Option* option : visible_options(*level.app)) {
      std::string names;
      for (const std::string& name : option->get_snames()) {
        names += " -s " + name;
      }
      for (const std::string& name : option->get_lnames()) {
        names += " -l " + name;
      }
      const auto choices = option_choices(*option);
      const std::string value = !takes_value(*option) ? ""
                                : choices.empty()
                                    ? " -r"
                                    : fmt::format(" -x -a '{}'", fmt::join(choices, " "));
      text += fmt::format("complete -c tenon{}{}{} -d '{}'\n", guard, names, value,
                          shell_quoted(option->get_description()));
    }
  }
  return text;
}

}  // namespace tenon::tools
