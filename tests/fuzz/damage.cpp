// SPDX-License-Identifier: Apache-2.0
#include "fuzz/damage.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <vector>

namespace tenon::fuzz {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

size_t below(size_t n, Rng& rng) {
  return static_cast<size_t>(rng.between(0, static_cast<int64_t>(n) - 1));
}

std::string change_lines(const std::string& text, Rng& rng) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.empty()) return "pragma_unroll nobody 4\n";
  const auto at = lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size(), rng));
  switch (rng.between(0, 3)) {
    case 0:
    case 1:
      lines.erase(at);
      break;
    case 2:
      lines.insert(at, std::string(*at));
      break;
    default:
      std::swap(*at, lines[below(lines.size(), rng)]);
  }
  return joined(lines);
}

// Where a run of characters of one kind begins and ends; the same place: there is none.
template <class Is>
std::pair<size_t, size_t> find_run(const std::string& text, const Is& is, Rng& rng) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is(text[end])) ++end;
    if (end > i) runs.emplace_back(i, end);
    i = std::max(end, i + 1);
  }
  return runs.empty() ? std::pair<size_t, size_t>{0, 0} : rng.pick(runs);
}

std::string change_number(std::string text, Rng& rng) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto [begin, end] = find_run(text, is_digit, rng);
  constexpr std::array<const char*, 14> kNumbers = {"0",
                                                    "1",
                                                    "2",
                                                    "3",
                                                    "4",
                                                    "5",
                                                    "7",
                                                    "8",
                                                    "16",
                                                    "64",
                                                    "-1",
                                                    "1000000",
                                                    "9223372036854775807",
                                                    "99999999999999999999"};
  return text.replace(begin, end - begin, kNumbers[below(kNumbers.size(), rng)]);
}

std::string change_word(std::string text, Rng& rng) {
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  const auto [begin, end] = find_run(text, is_letter, rng);
  const auto [from, to] = find_run(text, is_letter, rng);
  const std::string word = rng.chance(0.8) ? text.substr(from, to - from) : "zebra";
  return text.replace(begin, end - begin, word);
}

std::string flip_bytes(std::string text, Rng& rng) {
  if (text.empty()) return "\x80";
  for (int64_t i = rng.between(1, 3); i > 0; --i) {
    text[below(text.size(), rng)] = static_cast<char>(rng.between(0, 255));
  }
  return text;
}

std::string change(const std::string& text, Rng& rng) {
  const double luck = rng.unit();
  if (luck < 0.45) return change_lines(text, rng);
  if (luck < 0.75) return change_number(text, rng);
  if (luck < 0.88) return change_word(text, rng);
  if (luck < 0.95) return flip_bytes(text, rng);
  return text.substr(0, below(text.size() + 1, rng));
}

}  // namespace

std::string damage_text(std::string text, Rng& rng) {
  for (int64_t i = rng.chance(0.7) ? 1 : rng.between(2, 3); i > 0; --i) text = change(text, rng);
  return text;
}

}  // namespace tenon::fuzz
