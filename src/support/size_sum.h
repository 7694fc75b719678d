// SPDX-License-Identifier: Apache-2.0
// A size that is computed of others, as exporters write it for an axis: a sum of dimensions and numbers.
//
//   parse_size_sum("past + 2 * seq + 1", {"past", "seq"})  =>  SizeSum{1, {{"past", 1}, {"seq", 2}}}
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tenon {

struct SizeSum {
  int64_t constant = 0;
  std::map<std::string, int64_t> factors = {};  // by the name of a dimension; never 0

  // Nothing where a size is missing.
  std::optional<int64_t> at(const std::map<std::string, int64_t>& sizes) const;
  // The same with these sizes put in; the others stay names.
  SizeSum with(const std::map<std::string, int64_t>& sizes) const;
  // "2 * seq + past + 1"
  std::string text() const;
  bool operator==(const SizeSum&) const = default;
};

// Sums and differences of names, numbers and products of numbers with one name. Nothing for any other text, for a name
// that is none of `names`, and for a single name. A minus between names needs blanks around it: "batch-size" is one name.
std::optional<SizeSum> parse_size_sum(const std::string& text, const std::set<std::string>& names);

}  // namespace tenon
