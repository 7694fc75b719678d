// SPDX-License-Identifier: Apache-2.0
// The legal values of one hole, ascending. Cheap to copy.
//
//   Domain::divisors(56, 16)   1 2 4 7 8 14
//   Domain::range(1, 8)        1 2 3 4 5 6 7 8
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/rng.h"

namespace tenon::space {

class Domain {
 public:
  Domain() = default;  // no value
  static Domain range(int64_t low, int64_t high);
  static Domain of(std::vector<int64_t> values);  // in any order, the same value at most once
  static Domain divisors(int64_t n, int64_t most);
  static Domain single(int64_t value) { return range(value, value); }

  size_t size() const;
  bool empty() const { return size() == 0; }
  int64_t at(size_t i) const;
  bool contains(int64_t value) const;
  // The legal value that is nearest in ratio; the domain has one.
  int64_t nearest(int64_t value) const;
  int64_t draw(Rng& rng) const;  // all values alike
  // Value i with a chance in proportion to weights[i].
  int64_t draw(Rng& rng, const std::vector<double>& weights) const;
  // A value beside `value`, up or down; `value` itself where there is no other.
  int64_t neighbour(int64_t value, Rng& rng) const;

 private:
  size_t lower_bound(int64_t value) const;  // index of the first value that is not below

  int64_t low_ = 1, high_ = 0;                          // of a range
  std::shared_ptr<const std::vector<int64_t>> values_;  // null: a range
};

}  // namespace tenon::space
