// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "files/file.h"
#include "support/check.h"
#include "support/text.h"

namespace tenon::tools {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A link may lead to any file of the user's, and nobody reads a command line that closely.
int open_log(const std::string& path) {
  const bool device = path.starts_with("/dev/") || path.starts_with("/proc/");
  constexpr int kAppend = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  const int fd = open(path.c_str(), device ? kAppend : kAppend | O_NOFOLLOW, 0666);
  if (fd < 0) {
    throw UserError(path, 0, 0, fmt::format("cannot be written: {}", std::strerror(errno)),
                    errno == ELOOP ? "it is a link: --log-file wants the file itself" : "");
  }
  return fd;
}

}  // namespace

void write_stderr(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(STDERR_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

Console::~Console() {
  if (log_ >= 0) {
    close(log_);
  }
}

ProgressKind Console::progress() const {
  if (options.quiet || options.progress == "none") {
    return ProgressKind::kNone;
  }
  const bool bar =
      options.progress == "auto" && options.stderr_is_terminal && !options.plain_terminal;
  return bar ? ProgressKind::kBar : ProgressKind::kPlain;
}

void Console::start(const std::string& command_line) {
  if (options.log_file.empty()) {
    return;
  }
  log_ = open_log(options.log_file);
  log("$ " + command_line);
}

void Console::answer(std::string_view text) const {
  std::string ended = escaped_lines(text);
  if (!ended.empty() && ended.back() != '\n') {
    ended.push_back('\n');
  }
  files::write_stdout(ended);
}

void Console::say(std::string_view message, bool shown) const {
  if (shown) {
    write_stderr(escaped(message) + "\n");
  }
  log(message);
}

void Console::error(std::string_view kind, std::string message) const {
  std::replace(message.begin(), message.end(), '\n', ' ');
  const std::string prefix = color() ? fmt::format("tenon: \033[1;31m{}:\033[0m ", kind)
                                     : fmt::format("tenon: {}: ", kind);
  write_stderr(fmt::format("{}{}\n", prefix, escaped(message)));
  log(fmt::format("{}: {}", kind, message));
}

void Console::warn(std::string_view message) const {
  if (!options.quiet) {
    write_stderr(fmt::format(
        "tenon: {}{}\n", color() ? "\033[1;33mwarning:\033[0m " : "warning: ", escaped(message)));
  }
  log(fmt::format("warning: {}", message));
}
void Console::note(std::string_view message) const { say(message, !options.quiet); }
void Console::info(std::string_view message) const { say(message, options.verbose >= 1); }
void Console::debug(std::string_view message) const { say(message, options.verbose >= 2); }

// In one piece, so that lines of two processes do not mix.
void Console::log(std::string_view message) const {
  if (log_ < 0) {
    return;
  }
  const std::string line = escaped(message) + "\n";
  if (write(log_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ||
      log_is_full_.exchange(true)) {
    return;
  }
  write_stderr(fmt::format("tenon: warning: {}: lines are missing, it cannot be written: {}\n",
                           escaped(options.log_file), std::strerror(errno)));
}

Progress::Progress(const Console& console, std::string_view what)
    : console_(console), what_(escaped(what)), start_s_(now_s()), last_s_(start_s_) {}

Progress::~Progress() {
  if (drawn_) {
    write_stderr("\r\033[K");
  }
}

void Progress::at(double share, std::string_view text) {
  constexpr double kRedraw = 0.1;
  constexpr double kPlainEvery = 30;
  const ProgressKind kind = console_.progress();
  const double now = now_s();
  if (kind == ProgressKind::kNone ||
      now - last_s_ < (kind == ProgressKind::kBar ? kRedraw : kPlainEvery)) {
    return;
  }
  last_s_ = now;
  if (kind == ProgressKind::kPlain) {
    write_stderr(fmt::format("{}: {} ({:.0f} s)\n", what_, escaped(text), now - start_s_));
    return;
  }
  constexpr int kWidth = 24;
  const int done = std::clamp(static_cast<int>(share * kWidth), 0, kWidth);
  write_stderr(fmt::format("\r\033[K{} [{:#<{}}{:-<{}}] {}", what_, "", done, "", kWidth - done,
                           escaped(text)));
  drawn_ = true;
}

}  // namespace tenon::tools
