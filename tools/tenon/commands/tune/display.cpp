// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tools/tenon/commands/tune/frame.h"

namespace tenon::tools {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr double kFirstLineS = 5;
constexpr double kLineEveryS = 30;
constexpr const char* kStopping =
    "stopping after the running batch; interrupt again to stop at once";

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Asked each time: whoever resizes the window sees it in the next picture.
FrameOptions measure_terminal(const Console& console) {
  FrameOptions o{.columns = console.columns(), .color = console.color()};
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    o.rows = size.ws_row;
    o.columns = console.options.columns_given ? std::min<int>(o.columns, size.ws_col) : size.ws_col;
  }
  return o;
}

size_t shown_length(const std::string& line) {
  size_t n = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      i = std::min(line.find('m', i), line.size() - 1);
    } else {
      ++n;
    }
  }
  return n;
}

}  // namespace

TuneDisplay::TuneDisplay(const Console& console, std::function<bool()> stopping)
    : console_(console),
      kind_(console.progress()),
      stopping_(std::move(stopping)),
      taken_s_(now_s()),
      next_line_s_(taken_s_ + kFirstLineS) {
  if (kind_ != ProgressKind::kNone) {
    thread_ = std::thread([this] { loop(); });
  }
}

TuneDisplay::~TuneDisplay() { finish(); }

void TuneDisplay::take(const std::string& event) {
  const std::lock_guard lock(mutex_);
  progress_.take(event);
  taken_s_ = now_s();
  console_.log(event);
}

void TuneDisplay::make_room() {
  if (kind_ == ProgressKind::kBar) {
    write_stderr(back_to_top() + "\033[J");
    last_.clear();
  }
}

void TuneDisplay::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  make_room();
  console_.note(line);
}

void TuneDisplay::warn(const std::string& line) {
  const std::lock_guard lock(mutex_);
  make_room();
  console_.warn(line);
}

TuneProgress TuneDisplay::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void TuneDisplay::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (done_) {
      return;
    }
    done_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (kind_ == ProgressKind::kBar) {
    const std::lock_guard lock(mutex_);
    draw();
  }
}

double TuneDisplay::now_t() const {
  return progress_.ended().empty() ? progress_.t() + now_s() - taken_s_ : progress_.t();
}

void TuneDisplay::loop() {
  std::unique_lock lock(mutex_);
  while (!done_) {
    if (kind_ == ProgressKind::kBar) {
      draw();
    } else {
      tell_plainly();
    }
    wake_.wait_for(lock, kRedraw);
  }
}

void TuneDisplay::tell_plainly() {
  if (stopping_() && !told_stopping_) {
    told_stopping_ = true;
    write_stderr(fmt::format("{}\n", kStopping));
  }
  if (progress_.begun() && now_s() >= next_line_s_) {
    write_stderr(tune_line(progress_, now_t()) + "\n");
    next_line_s_ = now_s() + kLineEveryS;
  }
}

// A terminal that became narrower has wrapped what was drawn.
std::string TuneDisplay::back_to_top() {
  size_t up = 0;
  const auto width = static_cast<size_t>(measure_terminal(console_).columns);
  for (const size_t length : drawn_) {
    up += std::max<size_t>(1, (length + width - 1) / width);
  }
  drawn_.clear();
  return up > 0 ? fmt::format("\033[{}A\r", up) : "";
}

void TuneDisplay::draw() {
  FrameOptions o = measure_terminal(console_);
  if (stopping_() && progress_.ended().empty() && !done_) {
    o.status = kStopping;
  }
  const auto lines = tune_frame(progress_, now_t(), o);
  if (lines.empty()) {
    return;
  }
  std::string text = back_to_top();
  for (const std::string& line : lines) {
    text += line + "\033[K\n";
    drawn_.push_back(shown_length(line));
  }
  text += "\033[J";
  if (text != last_) {
    write_stderr(text);  // in one piece: what is written in pieces flickers
    last_ = text;
  }
}

}  // namespace tenon::tools
