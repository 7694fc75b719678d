// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tenon {
namespace {

std::string written(char byte, const Character& c) {
  if (c.bytes == 0) {
    return fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  }
  switch (c.code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", c.code);
  }
}

std::string escaped_but(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const bool plain = c.bytes > 0 && !is_control(c.code);
    if (plain || kept.find(text[at]) != std::string_view::npos) {
      out += text.substr(at, c.bytes);
    } else {
      out += written(text[at], c);
    }
    at += std::max<size_t>(c.bytes, 1);
  }
  return out;
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || at + length > text.size()) {
    return {};
  }
  uint32_t code = length == 1 ? first : first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) {
      return {};
    }
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return too_long || surrogate || code > 0x10FFFF ? Character{} : Character{code, length};
}

bool is_control(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0x0000, 0x001F}, {0x007F, 0x009F},  // C0, DEL, C1
      {0x061C, 0x061C}, {0x200E, 0x200F},  // marks of direction
      {0x2028, 0x2029},                    // ends of lines and paragraphs
      {0x202A, 0x202E}, {0x2066, 0x2069},  // embedding, override, isolation
      {0xFEFF, 0xFEFF},                    // the mark of byte order has no width
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const Range& r) { return r.first <= code && code <= r.last; });
}

std::string escaped(std::string_view text) { return escaped_but(text, ""); }
std::string escaped_lines(std::string_view text) { return escaped_but(text, "\n\t"); }

std::string grouped(int64_t n) {
  std::string digits = fmt::format("{}", n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) {
    return fmt::format("{:.1f} us", seconds * 1e6);
  }
  return seconds < 1 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string duration_text(double seconds) {
  const auto tenths = static_cast<int64_t>(std::llround(std::max(0.0, seconds) * 10));
  if (tenths < 100) {
    return fmt::format("0:{:02}.{}", tenths / 10, tenths % 10);
  }
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const int64_t hours = whole / 3600;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60)
                   : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) {
    return fmt::format("{:.0f} B", bytes);
  }
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit < 3; bytes /= 1024) {
    ++unit;
  }
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace tenon
