// SPDX-License-Identifier: Apache-2.0
// Shapes, lengths of time and lists of numbers as people write them; numbers are in support/text.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/text.h"

namespace tenon::tools {

// "1x3x224x224"; a scalar is "scalar".
std::string shape_text(const std::vector<int64_t>& shape);
// "1 task", "1,200 tasks": for words whose plural ends in s.
template <class Number>
std::string counted(Number n, std::string_view word) {
  return grouped(static_cast<int64_t>(n)) + " " + std::string(word) + (n == 1 ? "" : "s");
}
// "5m", "300s", "1h30m", "10ms", "250us", "90" (seconds) => seconds. Throws UserError that begins
// with `what`.
double parse_duration(const std::string& text, const std::string& what);

// "50,90,99.9"; throws UserError unless each is above 0 and at most 100.
std::vector<double> parse_percentiles(const std::string& text);
// "1,2,4"
std::vector<int> parse_counts(const std::string& option, const std::string& text);

}  // namespace tenon::tools
