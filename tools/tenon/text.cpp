// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/check.h"

namespace tenon::tools {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kTimeUnits[] = {{"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};

const Unit* find_unit(std::string_view name) {
  const auto it = std::find_if(std::begin(kTimeUnits), std::end(kTimeUnits),
                               [&](const Unit& u) { return u.name == name; });
  return it == std::end(kTimeUnits) ? nullptr : it;
}

std::vector<double> parse_numbers(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(word, &used);
    } catch (const std::logic_error&) {
      used = 0;
    }
    if (used == 0 || used != word.size() || !std::isfinite(value)) {
      throw UserError(fmt::format("{}: '{}' is no number", option, word));
    }
    numbers.push_back(value);
  }
  if (numbers.empty()) {
    throw UserError(fmt::format("{}: a list of numbers expected", option));
  }
  return numbers;
}

}  // namespace

std::string shape_text(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

double parse_duration(const std::string& text, const std::string& what) {
  const auto refuse = [&]() -> double {
    throw UserError(fmt::format("{} '{}' is no length of time", what, text),
                    "such as 5m, 300s, 1h30m, 10ms");
  };
  double total = 0;
  double last = HUGE_VAL;  // units get smaller from left to right
  for (size_t at = 0; at < text.size();) {
    const size_t digits = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const size_t end = std::min(text.find_first_of("0123456789.", digits), text.size());
    const std::string number = text.substr(at, digits - at);
    char* rest = nullptr;
    const double value = std::strtod(number.c_str(), &rest);
    const bool bare = end == digits && at == 0;
    const Unit* unit = bare ? find_unit("s") : find_unit(text.substr(digits, end - digits));
    if (number.empty() || *rest != '\0' || unit == nullptr || unit->seconds >= last) {
      return refuse();
    }
    last = unit->seconds;
    total += value * unit->seconds;
    at = end;
  }
  return total > 0 ? total : refuse();
}

std::vector<double> parse_percentiles(const std::string& text) {
  std::vector<double> percents = parse_numbers("--percentiles", text);
  for (const double p : percents) {
    if (p <= 0 || p > 100) {
      throw UserError(fmt::format("--percentiles: {} is not between 0 and 100", p));
    }
  }
  return percents;
}

std::vector<int> parse_counts(const std::string& option, const std::string& text) {
  std::vector<int> counts;
  for (const double n : parse_numbers(option, text)) {
    if (n < 1 || n > 1024 || n != std::floor(n)) {
      throw UserError(fmt::format("{}: {} is not a number from 1 to 1024", option, n));
    }
    counts.push_back(static_cast<int>(n));
  }
  return counts;
}

}  // namespace tenon::tools
