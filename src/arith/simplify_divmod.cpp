// SPDX-License-Identifier: Apache-2.0
// floor_div and floor_mod by a positive constant c. The dividend's linear form is split into a part
// divisible by c (or by a divisor g of c) and a rest; if the rest stays inside one multiple of the
// divisor, it decides.
//   (16*i + j) // 16  =>  i              (16*i + j) % 16  =>  j              0 <= j < 16
//   (4*i + j) // 16   =>  i // 4         (4*i + j) % 16   =>  (i % 4)*4 + j  0 <= j < 4
// A number below c changes no bit of a multiple of c, where c is a power of two.
//   (16*i + j) ^ k    =>  16*i + (j ^ k)                                     0 <= k < 16
#include <algorithm>
#include <bit>
#include <numeric>

#include "arith/simplifier.h"
#include "ir/build.h"
#include "ir/equal.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

// l = g * whole + rest. The constant's remainder, in 0 .. g-1, goes to the rest.
struct Split {
  Linear whole, rest;
};

Split split_by(const Linear& l, int64_t g) {
  Split s;
  for (const auto& [atom, k] : l.terms) {
    if (k % g == 0) {
      s.whole.terms.emplace_back(atom, k / g);
    } else {
      s.rest.terms.emplace_back(atom, k);
    }
  }
  s.whole.constant = floor_div(l.constant, g);
  s.rest.constant = floor_mod(l.constant, g);
  return s;
}

// l = g * whole + rest with every coefficient of the rest smaller than g in magnitude.
Split split_coefficients(const Linear& l, int64_t g) {
  Split s;
  for (const auto& [atom, k] : l.terms) {
    if (k / g != 0) {
      s.whole.terms.emplace_back(atom, k / g);
    }
    if (k % g != 0) {
      s.rest.terms.emplace_back(atom, k % g);
    }
  }
  s.whole.constant = floor_div(l.constant, g);
  s.rest.constant = floor_mod(l.constant, g);
  return s;
}

// The value of l // g if it is the same for all values of l.
std::optional<int64_t> constant_quotient(const Linear& l, int64_t g, const Ranges& ranges) {
  const Interval r = interval_of(l, ranges);
  if (r.lo < -kLinearLimit || r.hi > kLinearLimit || floor_div(r.lo, g) != floor_div(r.hi, g)) {
    return std::nullopt;
  }
  return floor_div(r.lo, g);
}

bool has_large_coefficient(const Linear& l, int64_t c) {
  return std::any_of(l.terms.begin(), l.terms.end(),
                     [&](const auto& t) { return std::abs(t.second) > c; });
}

// l = whole * c + (a rest inside one multiple of c).
std::optional<Split> exact_split(const Linear& l, int64_t c, const Ranges& ranges) {
  const bool reduce = has_large_coefficient(l, c);
  for (const bool coefficients : {false, true}) {
    if (coefficients && !reduce) {
      break;
    }
    Split s = coefficients ? split_coefficients(l, c) : split_by(l, c);
    if (const auto p = constant_quotient(s.rest, c, ranges)) {
      s.whole.constant += *p;
      s.rest.constant -= *p * c;
      return s;
    }
  }
  return std::nullopt;
}

// Divisors g of c, 1 < g < c, that divide some coefficient, largest first.
std::vector<int64_t> common_divisors(const Linear& l, int64_t c) {
  std::vector<int64_t> out;
  for (const auto& [atom, k] : l.terms) {
    const int64_t g = std::gcd(k, c);
    if (g > 1 && g < c && std::find(out.begin(), out.end(), g) == out.end()) {
      out.push_back(g);
    }
  }
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

struct PartialSplit {
  int64_t g;
  Split parts;  // the rest is inside 0 .. g-1
};

// The largest divisor g of c for which l = g * whole + rest with 0 <= rest < g.
std::optional<PartialSplit> partial_split(const Linear& l, int64_t c, const Ranges& ranges) {
  for (const int64_t g : common_divisors(l, c)) {
    Split s = split_by(l, g);
    if (const auto p = constant_quotient(s.rest, g, ranges)) {
      s.whole.constant += *p;
      s.rest.constant -= *p * g;
      return PartialSplit{g, std::move(s)};
    }
  }
  return std::nullopt;
}

const ir::Binary* as_binary(const Expr& e, BinaryOp op) {
  const auto* b = e.as<ir::Binary>();
  return b != nullptr && b->op == op ? b : nullptr;
}

// Larger divisors do not occur; below this one products with quotients need no care.
constexpr int64_t kLargestDivisor = int64_t{1} << 48;

std::optional<int64_t> positive_const(const Expr& e) {
  const auto c = ir::const_int(e);
  return c && *c > 0 && *c <= kLargestDivisor ? c : std::nullopt;
}

// (y // a + k) // c  =>  (y + k*a) // (a*c)     (y % a) // c  =>  (y // c) % (a / c) if c divides a
Expr nested_quotient(const Linear& l, int64_t c) {
  if (l.terms.size() != 1 || l.terms[0].second != 1) {
    return Expr();
  }
  const Expr& atom = l.terms[0].first;
  if (const auto* d = as_binary(atom, BinaryOp::kFloorDiv)) {
    const auto a = positive_const(d->b);
    int64_t ac = 0, shift = 0;
    if (a && !__builtin_mul_overflow(*a, c, &ac) &&
        !__builtin_mul_overflow(l.constant, *a, &shift)) {
      return ir::floor_div(d->a + Expr(shift), ac);
    }
  }
  if (const auto* m = as_binary(atom, BinaryOp::kFloorMod); m != nullptr && l.constant == 0) {
    const auto a = positive_const(m->b);
    if (a && *a % c == 0) {
      return ir::floor_mod(ir::floor_div(m->a, c), *a / c);
    }
  }
  return Expr();
}

// What l % c depends on: multiples of c go, coefficients and the constant are reduced, and
// k*(y % a) becomes k*y where c divides k*a.
std::optional<Linear> residue(const Linear& l, int64_t c) {
  Linear r;
  r.constant = floor_mod(l.constant, c);
  for (const auto& [atom, k] : l.terms) {
    const auto* m = as_binary(atom, BinaryOp::kFloorMod);
    const auto a = m != nullptr ? positive_const(m->b) : std::nullopt;
    if (const int64_t rest = k % c; rest != 0) {
      int64_t ka = 0;
      const bool open = a && !__builtin_mul_overflow(rest, *a, &ka) && ka % c == 0;
      if (!(open ? add_scaled(r, to_linear(m->a), rest) : add_term(r, atom, rest))) {
        return std::nullopt;
      }
    }
  }
  r.constant = floor_mod(r.constant, c);
  return r;
}

bool same_linear(const Linear& a, const Linear& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) {
    return false;
  }
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].second != b.terms[i].second || !a.terms[i].first.same_as(b.terms[i].first)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Expr Simplifier::divide(const Expr& e) {
  const auto* b = e.as<ir::Binary>();
  const auto divisor = positive_const(b->b);
  if (!divisor) {
    return table(e);
  }
  const int64_t c = *divisor;
  const Linear l = to_linear(b->a);
  if (const auto p = constant_quotient(l, c, *ranges_)) {
    return ir::make_int(ir::kI64, *p);
  }
  if (const auto s = exact_split(l, c, *ranges_)) {
    return accept(to_expr(s->whole), e);
  }
  if (const Expr nested = nested_quotient(l, c); nested.defined()) {
    return accept(nested, e);
  }
  if (const auto s = partial_split(l, c, *ranges_)) {
    if (Expr r = accept(ir::floor_div(to_expr(s->parts.whole), c / s->g), e); !r.same_as(e)) {
      return r;
    }
  }
  // What is divisible comes out: (16*i + j) // 16 => i + j // 16.
  Split s = split_by(l, c);
  if (s.whole.is_constant() && (s.whole.constant == 0 || s.rest.constant != 0)) {
    return e;
  }
  if (s.rest.constant != 0) {  // then the constant stays whole
    s.rest.constant = l.constant;
    s.whole.constant = 0;
  }
  return accept(to_expr(s.whole) + ir::floor_div(to_expr(s.rest), c), e);
}

Expr Simplifier::modulo(const Expr& e) {
  const auto* b = e.as<ir::Binary>();
  const auto divisor = positive_const(b->b);
  if (!divisor) {
    return table(e);
  }
  const int64_t c = *divisor;
  const Linear l = to_linear(b->a);
  if (const auto s = exact_split(l, c, *ranges_)) {
    if (Expr r = accept(to_expr(s->rest), e); !r.same_as(e)) {
      return r;
    }
  }
  if (const auto r = residue(l, c); r && !same_linear(*r, l)) {
    if (Expr next = accept(ir::floor_mod(to_expr(*r), c), e); !next.same_as(e)) {
      return next;
    }
  }
  if (const auto s = partial_split(l, c, *ranges_)) {
    const Expr high = ir::floor_mod(to_expr(s->parts.whole), c / s->g) * Expr(s->g);
    return accept(high + to_expr(s->parts.rest), e);
  }
  return e;
}

// Which bits a swizzled layout changes is the right side.
Expr Simplifier::exclusive_or(const Expr& e) {
  const auto* b = e.as<ir::Binary>();
  const auto x = ir::const_int(b->a), y = ir::const_int(b->b);
  if (x && y) return Expr(*x ^ *y);
  if (y == 0) return b->a;
  if (const auto* inner = as_binary(b->a, BinaryOp::kBitXor);
      inner != nullptr && ir::equal(inner->b, b->b)) {
    return inner->a;
  }
  const Interval changed = interval_of(b->b, ranges());
  if (changed.lo < 0 || changed.hi > kLinearLimit) return e;
  const auto c = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(changed.hi) + 1));
  const Split s = split_by(to_linear(b->a), c);
  if (s.whole.terms.empty() && s.whole.constant == 0) return e;
  const Expr rest = ir::make_binary(BinaryOp::kBitXor, to_expr(s.rest), b->b);
  return to_expr(s.whole) * Expr(c) + (s.rest.terms.empty() ? expr(rest) : rest);
}

}  // namespace tenon::arith
