// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "files/file.h"
#include "support/nearest.h"
#include "support/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/help.h"
#include "tools/tenon/option_tree.h"

namespace tenon::tools {
namespace {

void add_global_options(CLI::App& app, ConsoleOptions& options) {
  app.add_flag("--json", options.json, "Print one JSON document on stdout and nothing else");
  app.add_flag("-q,--quiet", options.quiet, "Only the answer and errors");
  app.add_flag("-v,--verbose", options.verbose, "Say more on stderr; -vv for still more");
  app.add_option("--log-file", options.log_file, "Append what is said on stderr to a file")
      ->type_name("FILE");
  app.add_flag("--no-color", options.no_color, "No colours, as with NO_COLOR or TERM=dumb");
  app.add_option("--progress", options.progress, "How to show progress on stderr")
      ->check(CLI::IsMember({"auto", "plain", "none"}))
      ->default_str("auto");
}

std::string quoted(const std::vector<std::string>& args) {
  std::string text = "tenon";
  for (const std::string& arg : args) {
    const bool plain =
        !arg.empty() && arg.find_first_of(" \t\n'\"\\$`*?<>|&;()") == std::string::npos;
    text += plain ? " " + arg : fmt::format(" '{}'", arg);
  }
  return text;
}

const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

bool has_option(const CLI::App& app, const char* name) {
  return app.get_option_no_throw(name) != nullptr;
}

// What a word that stands alone was probably meant for.
std::string use_of(const CLI::App& app, const std::string& word) {
  if (has_option(app, "--inputs")) return fmt::format("arrays are given with --inputs {}", word);
  if (has_option(app, "--output")) return fmt::format("-o {} writes there", word);
  return full_name(app) + " -h shows its use";
}

// CLI11 only says that something was not expected; people want to know what they may have meant.
[[noreturn]] void complain_about_extras(const CLI::App& root) {
  const CLI::App& app = innermost(root);
  const std::vector<std::string> extras = root.remaining(true);
  const std::string word = extras.empty() ? "" : extras.front();
  const std::string place = full_name(app);
  if (!word.starts_with("-") && !app.get_subcommands({}).empty()) {
    throw UserError(fmt::format("{} has no command '{}'", place, word),
                    did_you_mean(word, subcommand_names(app), place + " -h lists them"));
  }
  if (!word.starts_with("-")) {
    throw UserError(fmt::format("{} does not expect '{}'", place, word), use_of(app, word));
  }
  std::vector<std::string> names = {"--help"};
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : visible_options(*level)) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  const std::string typed = word.substr(0, word.find('='));
  throw UserError(fmt::format("{} has no option '{}'", place, typed),
                  did_you_mean(typed, names, place + " -h lists its options"));
}

// CLI11 only says that some command is missing.
void check_command(const std::vector<std::string>& args, const CLI::App& root) {
  if (!args.empty() && !args[0].starts_with("-") && find_subcommand(root, args[0]) == nullptr) {
    const auto names = subcommand_names(root);
    const std::string otherwise =
        args[0].ends_with(".onnx")
            ? fmt::format(
                  "tenon check {0} looks at a model, tenon compile {0} makes a library of it",
                  args[0])
            : fmt::format("commands: {}", fmt::join(names, ", "));
    throw UserError(fmt::format("there is no command '{}'", args[0]),
                    did_you_mean(args[0], names, otherwise));
  }
}

std::string with_hint(const CLI::App& root, const CLI::ParseError& error) {
  if (root.get_subcommands().empty()) return "a command is wanted (tenon -h lists them)";
  return fmt::format("{} ({} -h shows its use)", error.what(), full_name(innermost(root)));
}

class Cli {
 public:
  Cli(const ConsoleOptions& surroundings, const GetEnv& env)
      : console(surroundings), env_(env), root_("A compiler for tensor computations", "tenon") {
    root_.require_subcommand(1);
    root_.fallthrough();
    root_.set_help_flag("-h", "Short help with examples");
    root_.set_help_all_flag("--help", "Everything there is to say");
    root_.set_version_flag("-V,--version", "tenon " TENON_VERSION, "The version alone");
    add_global_options(root_, console.options);
    for (const CommandRow& row : command_rows()) {
      CLI::App* command = root_.add_subcommand(row.name, row.summary);
      command->set_help_flag("-h", "Short help with examples");
      command->set_help_all_flag("--help", "Everything there is to say");
      runs_[command] = row.add(*command, console);
    }
  }

  int run(const std::vector<std::string>& args) {
    check_command(args, root_);
    std::vector<std::string> all = with_settings(args, root_, env_);
    const std::string line = quoted(all);
    std::reverse(all.begin(), all.end());
    try {
      root_.parse(all);
    } catch (const CLI::CallForHelp&) {
      console.answer(short_help(innermost(root_), console.columns()));
      return kExitOk;
    } catch (const CLI::CallForAllHelp&) {
      console.answer(full_help(innermost(root_), console.columns()));
      return kExitOk;
    } catch (const CLI::CallForVersion& version) {
      console.answer(version.what());
      return kExitOk;
    } catch (const CLI::ParseError& error) {
      if (!root_.remaining(true).empty()) {
        complain_about_extras(root_);
      }
      throw UserError(with_hint(root_, error));
    }
    console.start(line);
    if (all.size() > args.size()) console.info("settings " + line);
    return runs_.at(root_.get_subcommands().front())();
  }

  Console console;

 private:
  const GetEnv& env_;
  CLI::App root_;
  std::map<const CLI::App*, Run> runs_;
};

// What a maintainer needs to see the fault again; empty if it could not be written.
std::string write_report(const std::vector<std::string>& args, const std::string& what,
                         const GetEnv& env) {
  const char* folder = env("TMPDIR");
  const std::string place = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  try {
    return files::write_new_file(
        place + "/tenon-report-XXXXXX.txt",
        escaped_lines(fmt::format("tenon {}\n$ {}\n{}\n", TENON_VERSION, quoted(args), what)));
  } catch (const UserError&) {
    return "";
  }
}

}  // namespace

int run_cli(const std::vector<std::string>& args, const ConsoleOptions& surroundings,
            const GetEnv& env) {
  Cli cli(surroundings, env);
  try {
    return cli.run(args);
  } catch (const files::ReaderLeft& error) {
    cli.console.log(error.what());
    return kExitReaderLeft;
  } catch (const CommandError& error) {
    cli.console.error("error", error.what());
    return error.exit_code();
  } catch (const UserError& error) {
    cli.console.error("error", error.what());
    return kExitUsage;
  } catch (const std::exception& error) {
    cli.console.error("internal error", error.what());
    if (const std::string report = write_report(args, error.what(), env); !report.empty()) {
      cli.console.note("report   " + report);
    }
    return kExitInternalError;
  }
}

}  // namespace tenon::tools
