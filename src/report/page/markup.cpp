// SPDX-License-Identifier: Apache-2.0
#include "report/page/markup.h"

#include <algorithm>

#include "support/text.h"

namespace tenon::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const char c = text[at];
    const size_t length = std::max<size_t>(character.bytes, 1);
    if (character.bytes == 0 || (is_control(character.code) && c != '\n' && c != '\t')) {
      out += kReplacement;
    } else {
      const std::string_view written = entity(c);
      out += written.empty() ? text.substr(at, length) : written;
    }
    at += length;
  }
  return out;
}

std::string escape_markdown(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>|#";
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  std::string out;
  for (const char c : escaped(line)) {
    if (kMarkup.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace tenon::report
