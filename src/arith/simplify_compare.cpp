// SPDX-License-Identifier: Apache-2.0
// Comparisons, min and max of i64, decided by the interval of the difference.
#include <algorithm>
#include <numeric>

#include "arith/simplifier.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

// `d op 0`, if the interval of d decides it.
std::optional<bool> decide_sign(BinaryOp op, Interval d) {
  switch (op) {
    case BinaryOp::kLt:
      return d.hi < 0 ? std::optional(true) : d.lo >= 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::kLe:
      return d.hi <= 0 ? std::optional(true) : d.lo > 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      if (d.lo > 0 || d.hi < 0) {
        return op == BinaryOp::kNe;
      }
      return d.is_point() ? std::optional(op == BinaryOp::kEq) : std::nullopt;
    default:
      return std::nullopt;
  }
}

int64_t gcd_of(const Linear& d) {
  int64_t g = 0;
  for (const auto& [atom, k] : d.terms) {
    g = std::gcd(g, k);
  }
  return g;
}

// d < 0 or d <= 0 with d = g*whole + rest + constant: whole alone decides if the rest cannot carry it
// over the next multiple of g. 16*i + j < 784 => i < 49 for 0 <= j < 16.
std::optional<Linear> drop_rest(BinaryOp op, const Linear& d, int64_t g, const Ranges& ranges) {
  Linear whole, rest;
  for (const auto& [atom, k] : d.terms) {
    if (k % g == 0) {
      whole.terms.emplace_back(atom, k / g);
    } else {
      rest.terms.emplace_back(atom, k);
    }
  }
  // g*whole + rest <= limit
  rest.constant = d.constant;
  const int64_t strict = op == BinaryOp::kLt ? 1 : 0;
  const Interval r = interval_of(rest, ranges) * -1;
  if (!r.bounded() || r.lo <= Interval::kMinusInf + strict ||
      floor_div(r.lo - strict, g) != floor_div(r.hi - strict, g)) {
    return std::nullopt;
  }
  whole.constant = -(floor_div(r.lo - strict, g) + strict);
  return whole;
}

// The same condition on a simpler form, or nothing.
std::optional<Linear> reduce(BinaryOp op, const Linear& d, const Ranges& ranges) {
  const bool ordered = op == BinaryOp::kLt || op == BinaryOp::kLe;
  if (const int64_t g = gcd_of(d); g > 1) {
    if (ordered) {
      return drop_rest(op, d, g, ranges);
    }
    Linear r;
    for (const auto& [atom, k] : d.terms) {
      r.terms.emplace_back(atom, k / g);
    }
    r.constant = d.constant / g;
    return r;
  }
  if (!ordered || d.terms.size() < 2) {
    return std::nullopt;
  }
  std::vector<int64_t> magnitudes;
  for (const auto& [atom, k] : d.terms) {
    if (std::abs(k) > 1) {
      magnitudes.push_back(std::abs(k));
    }
  }
  std::sort(magnitudes.begin(), magnitudes.end());
  magnitudes.erase(std::unique(magnitudes.begin(), magnitudes.end()), magnitudes.end());
  for (const int64_t g : magnitudes) {
    if (auto r = drop_rest(op, d, g, ranges)) {
      return r;
    }
  }
  return std::nullopt;
}

// Whether writing d again could be shorter than a and b: a term or constant is on both sides, or one
// can change sides.
bool may_shrink(const Linear& a, const Linear& b, const Linear& d) {
  const auto negative = [](const auto& t) { return t.second < 0; };
  return d.terms.size() < a.terms.size() + b.terms.size() || (a.constant != 0 && b.constant != 0) ||
         (a.constant != 0 && b.is_constant()) || (b.constant != 0 && a.is_constant()) ||
         std::any_of(a.terms.begin(), a.terms.end(), negative) ||
         std::any_of(b.terms.begin(), b.terms.end(), negative);
}

// `d op 0` with positive terms on the left, negative ones on the right, and the constant where it is
// positive or where there is nothing else.
Expr write_comparison(BinaryOp op, const Linear& d) {
  Linear left, right;
  for (const auto& [atom, k] : d.terms) {
    (k > 0 ? left : right).terms.emplace_back(atom, std::abs(k));
  }
  const bool constant_left = right.is_constant() ? false : left.is_constant() || d.constant > 0;
  if (constant_left) {
    left.constant = d.constant;
  } else {
    right.constant = -d.constant;
  }
  return ir::make_binary(op, to_expr(left), to_expr(right));
}

}  // namespace

Expr Simplifier::compare(const Expr& e) {
  const auto* b = e.as<ir::Binary>();
  const Linear left = to_linear(b->a);
  const Linear right = to_linear(b->b);
  Linear d = left;
  if (!add_scaled(d, right, -1)) {
    return table(e);
  }
  if (const auto known = decide_sign(b->op, interval_of(d, *ranges_))) {
    return ir::make_bool(*known);
  }
  const bool equality = b->op == BinaryOp::kEq || b->op == BinaryOp::kNe;
  if (equality && gcd_of(d) > 1 && d.constant % gcd_of(d) != 0) {
    return ir::make_bool(b->op == BinaryOp::kNe);
  }
  if (const auto reduced = reduce(b->op, d, *ranges_)) {
    if (Expr r = accept(write_comparison(b->op, *reduced), e); !r.same_as(e)) {
      return r;
    }
  }
  // Terms on both sides cancel; an order that is no shorter is left as it was written.
  if (may_shrink(left, right, d)) {
    if (const Expr r = write_comparison(b->op, d); node_count(r) < node_count(e)) {
      return expr(r);
    }
  }
  return table(e);
}

std::optional<bool> Simplifier::decide(const Expr& condition) const {
  if (const auto known = ir::const_int(condition)) {
    return *known != 0;
  }
  if (const auto* u = condition.as<ir::Unary>(); u != nullptr && u->op == ir::UnaryOp::kNot) {
    const auto known = decide(u->a);
    return known ? std::optional(!*known) : std::nullopt;
  }
  const auto* b = condition.as<ir::Binary>();
  if (b == nullptr) {
    return std::nullopt;
  }
  if (b->op == BinaryOp::kAnd || b->op == BinaryOp::kOr) {
    const bool absorbing = b->op == BinaryOp::kOr;
    const auto x = decide(b->a);
    const auto y = decide(b->b);
    if (x == absorbing || y == absorbing) {
      return absorbing;
    }
    return x && y ? std::optional(!absorbing) : std::nullopt;
  }
  if (b->a.dtype().scalar() != ir::kI64) {
    return std::nullopt;
  }
  if (b->a.dtype().is_vector()) {
    return decide_sign(b->op, interval_of(b->a, *ranges_) - interval_of(b->b, *ranges_));
  }
  Linear d = to_linear(b->a);
  return add_scaled(d, to_linear(b->b), -1) ? decide_sign(b->op, interval_of(d, *ranges_))
                                            : std::nullopt;
}

Expr Simplifier::extremum(const Expr& e) {
  const auto* b = e.as<ir::Binary>();
  Linear d = to_linear(b->a);
  if (add_scaled(d, to_linear(b->b), -1)) {
    const Interval r = interval_of(d, *ranges_);
    const bool is_min = b->op == BinaryOp::kMin;
    if (r.hi <= 0) {
      return is_min ? b->a : b->b;
    }
    if (r.lo >= 0) {
      return is_min ? b->b : b->a;
    }
  }
  return table(e);
}

}  // namespace tenon::arith
