// SPDX-License-Identifier: Apache-2.0
// The kernel's text files (/proc, /sys), read without allocating.
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

namespace tenon::runtime {

// Reads at most `size` - 1 bytes; an empty text where there is no such file.
inline void read_text(const char* path, char* text, size_t size) {
  text[0] = 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  const auto length = read(file, text, size - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
}

// Digits, as far as they go. Saturates far above anything that these files say.
inline int64_t read_number(const char*& at) {
  int64_t value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = value < (int64_t{1} << 50) ? value * 10 + (*at - '0') : value;
  }
  return value;
}

// A text file line by line. A line that does not fit is passed over: what is looked for is shorter.
//   Lines lines("/proc/self/maps");
//   while (char* line = lines.next()) { ... }
class Lines {
 public:
  explicit Lines(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Lines() {
    if (file_ >= 0) {
      close(file_);
    }
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Without its end; null after the last one, and where there is no such file. Valid until the next call.
  char* next() {
    for (;;) {
      char* line = text_ + at_;
      char* end = strchr(line, '\n');
      if (end != nullptr) {
        *end = 0;
        at_ = static_cast<size_t>(end + 1 - text_);
        if (!too_long_) {
          return line;
        }
        too_long_ = false;
      } else if (!fill()) {
        return nullptr;
      }
    }
  }

 private:
  // Moves what is held to the front and reads on. False at the end of the file.
  bool fill() {
    held_ -= at_;
    memmove(text_, text_ + at_, held_);
    at_ = 0;
    if (held_ == sizeof text_ - 1) {
      too_long_ = true;
      held_ = 0;
    }
    const auto got = file_ < 0 ? 0 : read(file_, text_ + held_, sizeof text_ - 1 - held_);
    held_ += got > 0 ? static_cast<size_t>(got) : 0;
    text_[held_] = 0;
    return got > 0;
  }

  int file_;
  size_t at_ = 0;
  size_t held_ = 0;
  bool too_long_ = false;  // the beginning of this line is gone
  char text_[2 * PATH_MAX] = "";
};

}  // namespace tenon::runtime
