// SPDX-License-Identifier: Apache-2.0
// Where words go: the answer to stdout, everything else to stderr and to --log-file. Nothing but the answer ever
// appears on stdout, so that `tenon bench --json | jq` always works.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tenon::tools {

enum class ProgressKind { kBar, kPlain, kNone };

// What the options that every command has say, and what the surroundings say.
struct ConsoleOptions {
  bool json = false;
  bool quiet = false;
  int verbose = 0;
  bool no_color = false;
  std::string log_file;
  std::string progress = "auto";
  // From the environment; main fills them in.
  bool stderr_is_terminal = false;
  bool plain_terminal = false;  // NO_COLOR or TERM=dumb
  int columns = 80;
  bool columns_given = false;  // COLUMNS says so, whatever the terminal does
};

class Console {
 public:
  explicit Console(ConsoleOptions surroundings) : options(std::move(surroundings)) {}
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // The parser writes into this; everything below reads it.
  ConsoleOptions options;

  bool json() const { return options.json; }
  int columns() const { return options.columns; }
  bool color() const {
    return options.stderr_is_terminal && !options.plain_terminal && !options.no_color;
  }
  ProgressKind progress() const;

  // After parsing: opens the log file. Throws UserError.
  void start(const std::string& command_line);

  // The whole answer; a line end is added where it lacks one. Throws UserError if stdout is full or closed.
  void answer(std::string_view text) const;

  void error(std::string_view kind, std::string message) const;  // always shown, on one line
  void warn(std::string_view message) const;                     // unless --quiet
  void note(std::string_view message) const;                     // unless --quiet
  void info(std::string_view message) const;                     // with -v
  void debug(std::string_view message) const;                    // with -vv
  void log(std::string_view message) const;                      // only into --log-file

 private:
  void say(std::string_view prefix, std::string_view message, bool shown) const;
  FILE* log_ = nullptr;
};

// "3 of 52 nodes" while something long goes on. On a terminal one line that is drawn over, otherwise a line every
// 30 seconds; nothing with --quiet or --progress=none.
class Progress {
 public:
  Progress(const Console& console, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // `share` is from 0 to 1.
  void at(double share, std::string_view text);

 private:
  const Console& console_;
  std::string what_;
  double start_s_;
  double last_s_;
  bool drawn_ = false;
};

}  // namespace tenon::tools
