// SPDX-License-Identifier: Apache-2.0
// Random integer and bool expressions over a few bound variables, biased towards what lowering makes:
// sums of products, divisions and remainders by related constants, comparisons and guards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "arith/interval.h"
#include "ir/build.h"
#include "support/rng.h"

namespace tenon::arith {

using Env = std::map<const ir::VarNode*, int64_t>;

class RandomExpr {
 public:
  RandomExpr(Rng& rng, int num_vars) : rng_(rng) {
    for (int i = 0; i < num_vars; ++i) {
      vars_.emplace_back(std::string(1, static_cast<char>('a' + i)));
      const int64_t lo = rng_.chance(0.7) ? 0 : rng_.between(-9, 9);
      const Interval r{lo, lo + rng_.pick<int64_t>({0, 1, 2, 3, 3, 6, 7, 15, 15, 40})};
      bounds_.push_back(r);
      // Some variables are bounded for the test and unknown to the simplifier.
      if (rng_.chance(0.7)) {
        ranges_.bind(vars_.back(), r);
      }
    }
  }

  // A variable of an enclosing loop, with no range of its own.
  void push(const ir::Var& v) { vars_.push_back(v); }
  void pop() { vars_.pop_back(); }

  const Ranges& ranges() const { return ranges_; }
  const std::vector<ir::Var>& vars() const { return vars_; }

  Env values() {
    Env env;
    for (size_t i = 0; i < vars_.size(); ++i) {
      const Interval b = bounds_[i];
      env[vars_[i].node()] =
          rng_.chance(0.3) ? (rng_.chance(0.5) ? b.lo : b.hi) : rng_.between(b.lo, b.hi);
    }
    return env;
  }

  ir::Expr index(int depth) {
    if (depth <= 0 || rng_.chance(0.08)) {
      return leaf();
    }
    switch (rng_.between(0, 13)) {
      case 0:
      case 1:
      case 2:
        return index(depth - 1) + index(depth - 1);
      case 3:
        return index(depth - 1) - index(depth - 1);
      case 4:
      case 5:
        return index(depth - 1) * constant();
      case 6:
        return rng_.chance(0.2) ? index(depth / 2) * index(depth / 2) : -index(depth - 1);
      case 7:
      case 8:
        return ir::floor_div(index(depth - 1), divisor());
      case 9:
      case 10:
        return ir::floor_mod(index(depth - 1), divisor());
      case 11:
        return ir::min(index(depth - 1), index(depth - 1));
      case 12:
        return ir::max(index(depth - 1), index(depth - 1));
      default:
        return ir::select(condition(depth - 1), index(depth - 1), index(depth - 1));
    }
  }

  ir::Expr condition(int depth) {
    if (depth <= 0 || rng_.chance(0.5)) {
      const ir::Expr a = index(depth - 1);
      const ir::Expr b = rng_.chance(0.5) ? constant() : index(depth - 1);
      switch (rng_.between(0, 4)) {
        case 0:
          return ir::le(a, b);
        case 1:
          return ir::eq(a, b);
        case 2:
          return ir::ne(a, b);
        case 3:
          return ir::lt(b, a);
        default:
          return ir::lt(a, b);
      }
    }
    switch (rng_.between(0, 3)) {
      case 0:
        return ir::logical_or(condition(depth - 1), condition(depth - 1));
      case 1:
        return ir::logical_not(condition(depth - 1));
      case 2:
        return ir::select(condition(depth - 2), condition(depth - 2), condition(depth - 2));
      default:
        return ir::logical_and(condition(depth - 1), condition(depth - 1));
    }
  }

  ir::Expr leaf() {
    return !vars_.empty() && rng_.chance(0.8) ? ir::Expr(rng_.pick(vars_)) : constant();
  }
  ir::Expr divisor() { return ir::Expr(rng_.pick<int64_t>({1, 2, 3, 4, 4, 8, 8, 12, 16, 16, 32})); }
  ir::Expr constant() {
    return ir::Expr(rng_.chance(0.7) ? rng_.pick<int64_t>({-1, 0, 1, 2, 3, 4, 4, 8, 12, 16, 32})
                                     : rng_.between(-40, 40));
  }

 private:
  Rng& rng_;
  std::vector<ir::Var> vars_;
  std::vector<Interval> bounds_;
  Ranges ranges_;
};

}  // namespace tenon::arith
