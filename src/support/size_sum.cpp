// SPDX-License-Identifier: Apache-2.0
#include "support/size_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tenon {
namespace {

constexpr int64_t kMostFactor = int64_t{1} << 20;  // so that sums of sizes do not overflow

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || value < 0 || value > kMostFactor) return std::nullopt;
  return value;
}

// Adds a product of numbers and at most one name; false if it is none.
bool add_term(std::string_view text, int64_t sign, const std::set<std::string>& names,
              SizeSum& sum) {
  int64_t factor = sign;
  std::string name;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('*', begin), text.size());
    const std::string_view part = trimmed(text.substr(begin, end - begin));
    if (const auto n = number(part)) {
      factor *= *n;
      if (factor > kMostFactor || factor < -kMostFactor) return false;
    } else if (name.empty() && names.count(std::string(part)) != 0) {
      name = part;
    } else {
      return false;
    }
    begin = end + 1;
  }
  (name.empty() ? sum.constant : sum.factors[name]) += factor;
  return true;
}

}  // namespace

std::optional<int64_t> SizeSum::at(const std::map<std::string, int64_t>& sizes) const {
  const SizeSum rest = with(sizes);
  return rest.factors.empty() ? std::optional(rest.constant) : std::nullopt;
}

SizeSum SizeSum::with(const std::map<std::string, int64_t>& sizes) const {
  SizeSum rest{constant};
  for (const auto& [name, factor] : factors) {
    if (const auto it = sizes.find(name); it != sizes.end()) {
      rest.constant += factor * it->second;
    } else {
      rest.factors.emplace(name, factor);
    }
  }
  return rest;
}

std::string SizeSum::text() const {
  std::string out;
  const auto add = [&](int64_t n, const std::string& name) {
    out += out.empty() ? (n < 0 ? "0 - " : "") : (n < 0 ? " - " : " + ");
    const int64_t size = n < 0 ? -n : n;
    out += name.empty() ? fmt::format("{}", size)
           : size == 1  ? name
                        : fmt::format("{} * {}", size, name);
  };
  for (const auto& [name, factor] : factors) add(factor, name);
  if (constant != 0 || out.empty()) add(constant, "");
  return out;
}

std::optional<SizeSum> parse_size_sum(const std::string& text, const std::set<std::string>& names) {
  if (names.count(text) != 0) return std::nullopt;
  SizeSum sum;
  int64_t sign = 1;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t plus = text.find('+', begin);
    const size_t minus = text.find(" - ", begin);
    const size_t end = std::min(std::min(plus, minus), text.size());
    const std::string_view term = std::string_view(text).substr(begin, end - begin);
    if (!add_term(trimmed(term), sign, names, sum)) return std::nullopt;
    sign = end == minus ? -1 : 1;
    begin = end + (end == minus ? 3 : 1);
  }
  std::erase_if(sum.factors, [](const auto& row) { return row.second == 0; });
  if (sum.factors.empty()) return std::nullopt;
  return sum;
}

}  // namespace tenon
