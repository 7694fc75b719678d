// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, and text of others so that it does no harm where it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

// 25557032 => "25,557,032"
std::string grouped(int64_t n);
// Microseconds or milliseconds or seconds, by size: "12.3 us", "4.711 ms", "1.20 s".
std::string time_text(double seconds);
// As a clock shows it: "0:07", "12:03", "2:00:59"; less than ten seconds with a tenth: "0:03.2".
std::string duration_text(double seconds);
// "640 B", "12.3 KiB", "1.2 GiB"
std::string bytes_text(double bytes);

// A character of UTF-8 text. `bytes` is 0 where there is none: cut off, too long, a surrogate, beyond U+10FFFF.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};
Character character_at(std::string_view text, size_t at);
// Control characters, ends of lines, and what turns the direction of writing: a terminal or a reader obeys them.
bool is_control(uint32_t code);

// Text of others (a name in a model, what a compiler said) on one line of a terminal, a table or a log:
//   "relu\n\x1b[2J"  =>  "relu\\n\\u001b[2J"; bytes that are no UTF-8 become \\xff. What needs no care stays as it is.
std::string escaped(std::string_view text);
// The same for text of several lines: line ends and tabs stay. JSON stays JSON.
std::string escaped_lines(std::string_view text);

}  // namespace tenon
