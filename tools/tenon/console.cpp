// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "support/check.h"

namespace tenon::tools {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Console::~Console() {
  if (log_ != nullptr) {
    std::fclose(log_);
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
  log_ = std::fopen(options.log_file.c_str(), "a");
  if (log_ == nullptr) {
    throw UserError(options.log_file, 0, 0,
                    fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  log("$ " + command_line);
}

void Console::answer(std::string_view text) const {
  std::string ended(text);
  if (!ended.empty() && ended.back() != '\n') {
    ended.push_back('\n');
  }
  if (std::fwrite(ended.data(), 1, ended.size(), stdout) != ended.size() ||
      std::fflush(stdout) != 0) {
    throw UserError(fmt::format("stdout cannot be written: {}", std::strerror(errno)));
  }
}

void Console::say(std::string_view prefix, std::string_view message, bool shown) const {
  if (shown) {
    fmt::print(stderr, "{}{}\n", prefix, message);
  }
  log(fmt::format("{}{}", prefix, message));
}

// On one line, so that scripts and logs can hold it.
void Console::error(std::string_view kind, std::string message) const {
  std::replace(message.begin(), message.end(), '\n', ' ');
  const std::string prefix = color() ? fmt::format("tenon: \033[1;31m{}:\033[0m ", kind)
                                     : fmt::format("tenon: {}: ", kind);
  fmt::print(stderr, "{}{}\n", prefix, message);
  log(fmt::format("{}: {}", kind, message));
}

void Console::warn(std::string_view message) const {
  say(color() ? "tenon: \033[1;33mwarning:\033[0m " : "tenon: warning: ", message, !options.quiet);
}
void Console::note(std::string_view message) const { say("", message, !options.quiet); }
void Console::info(std::string_view message) const { say("", message, options.verbose >= 1); }
void Console::debug(std::string_view message) const { say("", message, options.verbose >= 2); }

void Console::log(std::string_view message) const {
  if (log_ != nullptr) {
    fmt::print(log_, "{}\n", message);
    std::fflush(log_);
  }
}

Progress::Progress(const Console& console, std::string what)
    : console_(console), what_(std::move(what)), start_s_(now_s()), last_s_(start_s_) {}

Progress::~Progress() {
  if (drawn_) {
    fmt::print(stderr, "\r\033[K");
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
    fmt::print(stderr, "{}: {} ({:.0f} s)\n", what_, text, now - start_s_);
    return;
  }
  constexpr int kWidth = 24;
  const int done = std::clamp(static_cast<int>(share * kWidth), 0, kWidth);
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:-<{}}] {}", what_, "", done, "", kWidth - done, text);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace tenon::tools
