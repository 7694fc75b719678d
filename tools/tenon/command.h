// SPDX-License-Identifier: Apache-2.0
// A command of `tenon`: one file under commands/, one row in commands.cpp. It adds its options to the parser and
// says what to run once they are parsed. The answer goes to stdout through the Console, everything else to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "support/check.h"
#include "tools/tenon/console.h"

namespace tenon::tools {

// What scripts can rely on; `tenon help` prints the table.
enum ExitCode : int {
  kExitOk = 0,
  kExitInternalError = 1,
  kExitUsage = 2,
  kExitImport = 3,
  kExitMismatch = 4,
  kExitNoMeasurement = 5,
  kExitUnreachable = 6,
  kExitFrozen = 8,
  kExitInterrupted = 130,
  kExitReaderLeft = 141,
};

struct ExitRow {
  int code;
  std::string_view meaning;
};
std::span<const ExitRow> exit_rows();

// A mistake of the user's that has an exit code of its own.
class CommandError : public UserError {
 public:
  CommandError(int exit_code, const std::string& message) : UserError(message), code_(exit_code) {}
  int exit_code() const { return code_; }

 private:
  int code_;
};

// Returns the exit code, or throws: UserError ends in 2, CommandError in its own, anything else in 1.
using Run = std::function<int()>;
// Options must live as long as the function that reads them: share them with the returned Run.
using AddCommand = Run (*)(CLI::App& command, Console& console);

struct CommandRow {
  const char* name;
  const char* summary;   // one line
  const char* details;   // for --help; may be empty
  const char* examples;  // one per line
  AddCommand add;
};

// In the order in which they are listed to people.
std::span<const CommandRow> command_rows();
const CommandRow* find_command(std::string_view name);

Run add_bench(CLI::App& command, Console& console);
Run add_check(CLI::App& command, Console& console);
Run add_compare(CLI::App& command, Console& console);
Run add_compile(CLI::App& command, Console& console);
Run add_completion(CLI::App& command, Console& console);
Run add_data(CLI::App& command, Console& console);
Run add_db(CLI::App& command, Console& console);
Run add_doctor(CLI::App& command, Console& console);
Run add_explain(CLI::App& command, Console& console);
Run add_gather(CLI::App& command, Console& console);
Run add_help(CLI::App& command, Console& console);
Run add_licenses(CLI::App& command, Console& console);
Run add_model(CLI::App& command, Console& console);
Run add_profile(CLI::App& command, Console& console);
Run add_replay(CLI::App& command, Console& console);
Run add_report(CLI::App& command, Console& console);
Run add_run(CLI::App& command, Console& console);
Run add_targets(CLI::App& command, Console& console);
Run add_tune(CLI::App& command, Console& console);
Run add_verify(CLI::App& command, Console& console);
Run add_version(CLI::App& command, Console& console);
Run add_zoo(CLI::App& command, Console& console);

}  // namespace tenon::tools
