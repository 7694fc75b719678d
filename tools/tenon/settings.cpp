// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "files/file.h"
#include "support/check.h"
#include "support/nearest.h"
#include "tools/tenon/option_tree.h"

namespace tenon::tools {
namespace {

// Long names of an app's options, those of its own subcommands too.
std::vector<const CLI::Option*> all_options(const CLI::App& app, bool with_subcommands) {
  std::vector<const CLI::Option*> options = visible_options(app);
  if (with_subcommands) {
    for (const CLI::App* sub : app.get_subcommands({})) {
      const auto more = all_options(*sub, true);
      options.insert(options.end(), more.begin(), more.end());
    }
  }
  return options;
}

const CLI::Option* find_long(const std::vector<const CLI::Option*>& options,
                             const std::string& name) {
  for (const CLI::Option* option : options) {
    const auto& names = option->get_lnames();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return option;
    }
  }
  return nullptr;
}

// What a file of the current folder may set: how to work, never where to read and write, what to start, or that a
// question needs no answer. What is not in this table is refused there.
constexpr std::string_view kFromHere =
    " accuracy atol batch bisect budget cold-cache compile-limit compile-memory compile-threads "
    "dims dry-run duration early-stop emit frozen full group image iterations json jsonl keep "
    "latency-target layouts measure name no-check no-color no-fuse no-hints objective optimize "
    "overlap "
    "pairs percentiles population progress protocol quiet records round rtol run run-limit runs "
    "search-threads seed seeds shape show sim sort space strategy target task tasks template "
    "threads tokens top trials verbose verify warm-cache warmup ";

std::string env_name(std::string option) {
  std::transform(option.begin(), option.end(), option.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(toupper(c)); });
  return "TENON_" + option;
}

void check_origin(const SettingsFile& file, const std::string& key) {
  if (!file.from_here || kFromHere.find(" " + key + " ") != std::string_view::npos) {
    return;
  }
  throw UserError(
      file.path, 0, 0,
      fmt::format("'{}' is not taken from the current folder, whose files may be anybody's", key),
      fmt::format("give --{} on the command line, {} in the environment{}", key, env_name(key),
                  file.own_path.empty() ? "" : ", or the setting in " + file.own_path));
}

void check_key(const SettingsFile& file, const std::string& key,
               const std::vector<const CLI::Option*>& options) {
  if (find_long(options, key) != nullptr) {
    check_origin(file, key);
    return;
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  throw UserError(file.path, 0, 0, fmt::format("there is no setting '{}'", key),
                  did_you_mean(key, names, "settings are named as the long options are"));
}

// Where the command stands among the arguments: the first that is no option and no option's value.
size_t command_at(const std::vector<std::string>& args, const CLI::App& root) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].empty() || args[i][0] != '-') {
      return i;
    }
    const CLI::Option* option =
        args[i].starts_with("--") ? find_long(visible_options(root), args[i].substr(2)) : nullptr;
    i += option != nullptr && option->get_items_expected_max() > 0 ? 1 : 0;
  }
  return args.size();
}

bool given(const std::vector<std::string>& args, const CLI::Option& option) {
  const auto is_named = [&](const std::string& arg) {
    const auto matches = [&](const std::string& name, const char* dashes) {
      const std::string full = dashes + name;
      return arg == full || arg.starts_with(full + "=");
    };
    const auto& longs = option.get_lnames();
    const auto& shorts = option.get_snames();
    return std::any_of(longs.begin(), longs.end(),
                       [&](const auto& n) { return matches(n, "--"); }) ||
           std::any_of(shorts.begin(), shorts.end(),
                       [&](const auto& n) { return matches(n, "-"); });
  };
  return std::any_of(args.begin(), args.end(), is_named);
}

std::string own_settings(const GetEnv& env) {
  const char* config = env("XDG_CONFIG_HOME");
  const char* home = env("HOME");
  if (config != nullptr && *config != '\0') {
    return std::string(config) + "/tenon/config.toml";
  }
  return home != nullptr && *home != '\0' ? std::string(home) + "/.config/tenon/config.toml" : "";
}

std::vector<SettingsFile> settings_files(const GetEnv& env) {
  const std::string own = own_settings(env);
  std::vector<SettingsFile> files = {{"tenon.toml", true, own}};
  if (!own.empty()) {
    files.push_back({own, false, own});
  }
  return files;
}

}  // namespace

Settings read_settings_file(const SettingsFile& file, const std::string& text, const CLI::App& root,
                            const std::string& command) {
  std::istringstream in(text);
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(in);
  } catch (const CLI::Error& error) {
    throw UserError(file.path, 0, 0, error.what());
  }
  Settings own;
  Settings common;
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") {
      continue;  // the parser's marks for the begin and end of a section
    }
    const std::string value = fmt::format("{}", fmt::join(item.inputs, ","));
    if (item.parents.empty()) {
      check_key(file, item.name, all_options(root, true));
      common[item.name] = value;
      continue;
    }
    const std::string& section = item.parents[0];
    const CLI::App* app = find_subcommand(root, section);
    if (app == nullptr) {
      throw UserError(
          file.path, 0, 0,
          fmt::format("there is no command '{}' for section [{}]", section, section),
          did_you_mean(section, subcommand_names(root), "sections are named as the commands are"));
    }
    auto options = all_options(*app, true);
    const auto global = visible_options(root);
    options.insert(options.end(), global.begin(), global.end());
    check_key(file, item.name, options);
    if (section == command) {
      own[item.name] = value;
    }
  }
  own.merge(common);
  return own;
}

std::vector<std::string> with_settings(const std::vector<std::string>& args, const CLI::App& root,
                                       const GetEnv& env) {
  const size_t at = command_at(args, root);
  const CLI::App* app = at < args.size() ? find_subcommand(root, args[at]) : nullptr;
  if (app == nullptr) {
    return args;
  }
  // `tenon zoo write ...`: options of the inner command stand behind its name.
  size_t end = at + 1;
  while (end < args.size() && find_subcommand(*app, args[end]) != nullptr) {
    app = find_subcommand(*app, args[end++]);
  }
  Settings settings;
  for (const SettingsFile& file : settings_files(env)) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file.path, ignored)) {
      settings.merge(read_settings_file(file, files::read_file(file.path), root, args[at]));
    }
  }
  auto options = visible_options(*app);
  const auto global = visible_options(root);
  options.insert(options.end(), global.begin(), global.end());
  std::vector<std::string> extra;
  for (const CLI::Option* option : options) {
    for (const std::string& name : option->get_lnames()) {
      const char* value = env(env_name(name).c_str());
      const auto setting = settings.find(name);
      if ((value == nullptr && setting == settings.end()) || given(args, *option)) {
        continue;
      }
      extra.push_back(fmt::format("--{}={}", name, value != nullptr ? value : setting->second));
    }
  }
  std::vector<std::string> all = args;
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(end), extra.begin(), extra.end());
  return all;
}

}  // namespace tenon::tools
