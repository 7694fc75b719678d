// SPDX-License-Identifier: Apache-2.0
// Integer intervals, both ends included, and what is known about variables.
//
//   Ranges r; r.bind(i, {0, 15});
//   interval_of(i * 4 + 2, r)  ==  {2, 62}
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "ir/ir.h"
#include "support/flat_map.h"

namespace tenon::arith {

struct Interval {
  static constexpr int64_t kMinusInf = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPlusInf = std::numeric_limits<int64_t>::max();
  int64_t lo = kMinusInf;
  int64_t hi = kPlusInf;
  bool bounded() const { return lo != kMinusInf && hi != kPlusInf; }
  bool is_point() const { return lo == hi; }
  bool operator==(const Interval&) const = default;
};

Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator*(Interval a, Interval b);
Interval operator*(Interval a, int64_t k);
Interval min(Interval a, Interval b);
Interval max(Interval a, Interval b);
Interval unite(Interval a, Interval b);
Interval intersect(Interval a, Interval b);  // the first if they do not meet
Interval floor_div(Interval a, Interval b);
Interval floor_mod(Interval a, Interval b);
// What a type can hold: {0, 255} for u8. Nothing is known about i64, u64 and floats.
Interval range_of(ir::DType t);

// Rounds towards minus infinity; b > 0. The only floor division in the code base.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0);
}
constexpr int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

struct Linear;

// Ranges of variables, and facts: linear forms known to be >= 0, which relate variables to each other
// (inside `for j in 0..min(14, 49 - i*14)` the fact is 48 - i*14 - j >= 0).
class Ranges {
 public:
  void bind(const ir::Var& v, Interval r) { map_[v.node()] = r; }
  void bind(const ir::VarNode* v, Interval r) { map_[v] = r; }
  void unbind(const ir::VarNode* v) { map_.erase(v); }
  Interval of(const ir::VarNode* v) const {
    auto it = map_.find(v);
    return it == map_.end() ? Interval{} : it->second;
  }
  void add_fact(const Linear& non_negative);
  const std::vector<std::shared_ptr<const Linear>>& facts() const { return facts_; }
  // Forgets the youngest facts, so that `count` remain.
  void keep_facts(size_t count) { facts_.resize(count); }

 private:
  FlatMap<const ir::VarNode*, Interval> map_;
  std::vector<std::shared_ptr<const Linear>> facts_;
};

// Sound: contains every value that `e` (a scalar integer, or each lane of a vector) can take.
// Terms that cancel are seen: interval_of(i*4 + j - i*4) is j's.
Interval interval_of(const ir::Expr& e, const Ranges& ranges);
// The same for a linear form; also uses the facts, and takes min, max and select atoms case by case.
Interval interval_of(const Linear& l, const Ranges& ranges);

}  // namespace tenon::arith
