// SPDX-License-Identifier: Apache-2.0
// Intervals of expressions and of linear forms.
#include <algorithm>
#include <bit>

#include "arith/interval.h"
#include "arith/linear.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;

// How many min, max and select atoms are taken case by case.
constexpr int kMaxCases = 2;

struct Context {
  const Ranges& ranges;
  bool use_facts;  // not while a fact is being used: one at a time, so that this ends
};

Interval of_expr(const ir::Expr& e, const Context& ctx);
Interval of_linear(const Linear& l, const Context& ctx, int cases_left);

bool within(Interval inner, Interval outer) { return inner.lo >= outer.lo && inner.hi <= outer.hi; }

Interval of_trunc_div(Interval a, Interval b) {
  if (a.lo >= 0) {
    return floor_div(a, b);
  }
  if (!b.is_point() || b.lo <= 0 || !a.bounded()) {
    return {};
  }
  return {a.lo / b.lo, a.hi / b.lo};
}

Interval of_bit_and(Interval a, Interval b) {
  if (b.lo >= 0) {
    return {0, b.hi};
  }
  return a.lo >= 0 ? Interval{0, a.hi} : Interval{};
}

// Bits below the highest of `b` may become anything.
Interval of_bit_xor(Interval a, Interval b) {
  if (!a.bounded() || !b.bounded() || a.lo < 0 || b.lo < 0) {
    return {};
  }
  const auto changed = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(b.hi) + 1)) - 1;
  return {a.lo & ~changed, a.hi | changed};
}

Interval of_binary(const ir::Binary& e, const Context& ctx) {
  const Interval a = of_expr(e.a, ctx);
  const Interval b = of_expr(e.b, ctx);
  switch (e.op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return of_trunc_div(a, b);
    case BinaryOp::kFloorDiv:
      return floor_div(a, b);
    case BinaryOp::kFloorMod:
      return floor_mod(a, b);
    case BinaryOp::kMin:
      return min(a, b);
    case BinaryOp::kMax:
      return max(a, b);
    case BinaryOp::kBitAnd:
      return of_bit_and(a, b);
    case BinaryOp::kBitXor:
      return of_bit_xor(a, b);
    default:
      return {};
  }
}

Interval of_call(const ir::Call& e, const Context& ctx) {
  if (e.fn != ir::Intrinsic::kAbs) {
    return {};
  }
  const Interval a = of_expr(e.args[0], ctx);
  return a.lo >= 0 ? a : unite(Interval{0, 0}, max(a, a * -1));
}

Interval of_reduce(const ir::VectorReduce& e, const Context& ctx) {
  const Interval lane = of_expr(e.value, ctx);
  switch (e.op) {
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return lane;
    case BinaryOp::kAdd:
      return lane * e.group();
    default:
      return {};
  }
}

// Before the limits of the type are taken into account.
Interval of_node(const ir::Expr& e, const Context& ctx) {
  switch (e.kind()) {
    case ir::ExprKind::kIntImm: {
      const int64_t v = e.as<ir::IntImm>()->value;
      return v < -kLinearLimit || v > kLinearLimit ? Interval{} : Interval{v, v};
    }
    case ir::ExprKind::kVarNode:
      return ctx.ranges.of(e.as<ir::VarNode>());
    case ir::ExprKind::kCast: {
      const ir::Expr& value = e.as<ir::Cast>()->value;
      const bool wide = value.dtype().code == ir::TypeCode::kUInt && value.dtype().bits == 64;
      return value.dtype().is_float() || wide ? Interval{} : of_expr(value, ctx);
    }
    case ir::ExprKind::kUnary: {
      const auto* u = e.as<ir::Unary>();
      return u->op == ir::UnaryOp::kNeg ? of_expr(u->a, ctx) * -1 : Interval{};
    }
    case ir::ExprKind::kBinary:
      return of_binary(*e.as<ir::Binary>(), ctx);
    case ir::ExprKind::kSelect: {
      const auto* s = e.as<ir::Select>();
      return unite(of_expr(s->on_true, ctx), of_expr(s->on_false, ctx));
    }
    case ir::ExprKind::kCall:
      return of_call(*e.as<ir::Call>(), ctx);
    case ir::ExprKind::kRamp: {
      const auto* r = e.as<ir::Ramp>();
      const Interval lane{0, e.dtype().lanes - 1};
      return of_expr(r->base, ctx) + of_expr(r->stride, ctx) * lane;
    }
    case ir::ExprKind::kBroadcast:
      return of_expr(e.as<ir::Broadcast>()->value, ctx);
    case ir::ExprKind::kVectorReduce:
      return of_reduce(*e.as<ir::VectorReduce>(), ctx);
    default:
      return {};
  }
}

bool is_sum(const ir::Expr& e) {
  if (e.dtype() != ir::kI64) {
    return false;
  }
  const auto* b = e.as<ir::Binary>();
  return b != nullptr && (b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub);
}

Interval sum_of_terms(const Linear& l, const Context& ctx) {
  Interval r{l.constant, l.constant};
  for (const auto& [atom, k] : l.terms) {
    r = r + of_expr(atom, ctx) * k;
  }
  return r;
}

int64_t coefficient_of(const Linear& l, const ir::Expr& atom) {
  for (const auto& [other, k] : l.terms) {
    if (same_atom(other, atom)) {
      return k;
    }
  }
  return 0;
}

// The interval of l - k*fact, without building it. Unknown when a coefficient leaves 64 bits.
Interval of_difference(const Linear& l, int64_t k, const Linear& fact, const Ranges& ranges) {
  const Context ctx{ranges, false};
  Interval r = Interval{l.constant, l.constant} - Interval{fact.constant, fact.constant} * k;
  const auto add = [&](const ir::Expr& atom, int64_t in_l, int64_t in_fact) {
    int64_t scaled = 0;
    const bool overflow = __builtin_mul_overflow(in_fact, k, &scaled) ||
                          __builtin_sub_overflow(in_l, scaled, &scaled);
    r = overflow ? Interval{} : scaled == 0 ? r : r + of_expr(atom, ctx) * scaled;
    return !overflow;
  };
  for (const auto& [atom, kl] : l.terms) {
    if (!add(atom, kl, coefficient_of(fact, atom))) {
      return {};
    }
  }
  for (const auto& [atom, kf] : fact.terms) {
    if (coefficient_of(l, atom) == 0 && !add(atom, 0, kf)) {
      return {};
    }
  }
  return r;
}

// A fact f >= 0 bounds l from below through l = k*f + rest, k > 0, and from above for k < 0. It helps
// only if k is chosen so that a term cancels.
void tighten_by_fact(const Linear& l, const Linear& fact, const Ranges& ranges, Interval& r) {
  int64_t last = 0;
  for (const auto& [atom, kf] : fact.terms) {
    const int64_t kl = coefficient_of(l, atom);
    if (kl == 0 || kl % kf != 0 || kl / kf == last) {
      continue;
    }
    last = kl / kf;
    const Interval bound = of_difference(l, last, fact, ranges);
    if (last > 0) {
      r.lo = std::max(r.lo, bound.lo);
    } else {
      r.hi = std::min(r.hi, bound.hi);
    }
  }
}

struct Cases {
  ir::Expr a, b;
  enum { kMin, kMax, kEither } how;
};

std::optional<Cases> cases_of(const ir::Expr& atom) {
  if (const auto* b = atom.as<ir::Binary>()) {
    if (b->op == BinaryOp::kMin) {
      return Cases{b->a, b->b, Cases::kMin};
    }
    if (b->op == BinaryOp::kMax) {
      return Cases{b->a, b->b, Cases::kMax};
    }
  }
  if (const auto* s = atom.as<ir::Select>()) {
    return Cases{s->on_true, s->on_false, Cases::kEither};
  }
  return std::nullopt;
}

// l with atom number `at` replaced by each of its two cases.
std::optional<Interval> of_cases(const Linear& l, size_t at, const Cases& c, const Context& ctx,
                                 int cases_left) {
  const int64_t k = l.terms[at].second;
  Linear with_a = l;
  with_a.terms.erase(with_a.terms.begin() + static_cast<std::ptrdiff_t>(at));
  Linear with_b = with_a;
  if (!add_scaled(with_a, to_linear(c.a), k) || !add_scaled(with_b, to_linear(c.b), k)) {
    return std::nullopt;
  }
  const Interval a = of_linear(with_a, ctx, cases_left - 1);
  const Interval b = of_linear(with_b, ctx, cases_left - 1);
  if (c.how == Cases::kEither) {
    return unite(a, b);
  }
  return (c.how == Cases::kMin) == (k > 0) ? min(a, b) : max(a, b);
}

Interval of_linear(const Linear& l, const Context& ctx, int cases_left) {
  Interval r = sum_of_terms(l, ctx);
  if (ctx.use_facts) {
    for (const auto& fact : ctx.ranges.facts()) {
      tighten_by_fact(l, *fact, ctx.ranges, r);
    }
  }
  if (l.terms.size() > 1 && cases_left > 0) {
    for (size_t i = 0; i < l.terms.size(); ++i) {
      if (const auto c = cases_of(l.terms[i].first)) {
        const auto split = of_cases(l, i, *c, ctx, cases_left);
        return split ? intersect(r, *split) : r;
      }
    }
  }
  return r;
}

Interval of_expr(const ir::Expr& e, const Context& ctx) {
  if (is_sum(e)) {
    const Linear l = to_linear(e);
    // The whole sum is its own atom if its numbers leave 64 bits.
    const bool opaque = l.terms.size() == 1 && l.terms[0].first.same_as(e);
    return opaque ? Interval{} : of_linear(l, ctx, kMaxCases);
  }
  if (e.dtype().is_float()) {
    return {};
  }
  const Interval limits = range_of(e.dtype());
  const Interval r = of_node(e, ctx);
  return within(r, limits) ? r : limits;
}

}  // namespace

Interval interval_of(const Linear& l, const Ranges& ranges) {
  return of_linear(l, {ranges, !ranges.facts().empty()}, kMaxCases);
}

Interval interval_of(const ir::Expr& e, const Ranges& ranges) {
  return of_expr(e, {ranges, !ranges.facts().empty()});
}

}  // namespace tenon::arith
