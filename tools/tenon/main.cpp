// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <string>

#include "support/check.h"
#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

struct Row {
  const char* name;
  const char* summary;
  AddCommand add;
};

constexpr Row kCommands[] = {
    {"explain", "Show the loops, the IR, the code of a scheduled tensor expression", add_explain},
    {"bench", "Check a scheduled tensor expression against the reference and time it", add_bench},
    {"version", "Print the version of tenon and what it knows about this machine", add_version},
};

// Messages stay on one line so that scripts and logs can hold them.
void complain(const std::string& kind, std::string message) {
  for (char& c : message) {
    c = c == '\n' ? ' ' : c;
  }
  fmt::print(stderr, "tenon: {}: {}\n", kind, message);
}

// CLI11 only says that some command is missing.
void check_command_name(const std::string& word) {
  std::string names;
  for (const Row& row : kCommands) {
    if (word == row.name) {
      return;
    }
    names += names.empty() ? row.name : std::string(", ") + row.name;
  }
  throw UserError(fmt::format("there is no command '{}'", word), "commands: " + names);
}

int run(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') {
    check_command_name(argv[1]);
  }
  CLI::App app("A compiler for tensor computations", "tenon");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 success, 2 a mistake in what was asked, 70 a fault of tenon\n");
  std::map<const CLI::App*, Run> runs;
  for (const Row& row : kCommands) {
    CLI::App* command = app.add_subcommand(row.name, row.summary);
    runs[command] = row.add(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    complain("error", std::string(error.what()) + " (tenon --help lists what there is)");
    return kExitUserError;
  }
  return runs.at(app.get_subcommands().front())();
}

}  // namespace
}  // namespace tenon::tools

int main(int argc, char** argv) {
  using namespace tenon;
  try {
    return tools::run(argc, argv);
  } catch (const UserError& error) {
    tools::complain("error", error.what());
    return tools::kExitUserError;
  } catch (const std::exception& error) {
    tools::complain("internal error", error.what());
    return tools::kExitInternalError;
  }
}
