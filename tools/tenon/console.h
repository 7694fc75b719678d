// SPDX-License-Identifier: Apache-2.0
// Where words go: the answer to stdout, everything else to stderr and to --log-file. Nothing but the answer ever
// appears on stdout, so that `tenon bench --json | jq` always works. Whatever words come from a model, a database or
// another program, no terminal and no log takes them for commands or for lines of tenon's own: they are escaped here.
#pragma once

#include <atomic>
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

  // The whole answer; a line end is added where it lacks one. Throws UserError if stdout is full or closed, and
  // files::ReaderLeft if it is a pipe that nobody reads.
  void answer(std::string_view text) const;

  // Each message is one line. A stderr that is full, closed or not read loses it and nothing else.
  void error(std::string_view kind, std::string message) const;  // always shown
  void warn(std::string_view message) const;                     // unless --quiet
  void note(std::string_view message) const;                     // unless --quiet
  void info(std::string_view message) const;                     // with -v
  void debug(std::string_view message) const;                    // with -vv
  void log(std::string_view message) const;                      // only into --log-file

 private:
  void say(std::string_view message, bool shown) const;
  int log_ = -1;
  mutable std::atomic<bool> log_is_full_ = false;  // it was said
};

// Bytes that are made here, such as colours and pictures; what cannot be written is lost without a word.
void write_stderr(std::string_view bytes);

// "3 of 52 nodes" while something long goes on. On a terminal one line that is drawn over, otherwise a line every
// 30 seconds; nothing with --quiet or --progress=none.
class Progress {
 public:
  Progress(const Console& console, std::string_view what);
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
