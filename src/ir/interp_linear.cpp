// SPDX-License-Identifier: Apache-2.0
#include "ir/interp_linear.h"

#include <algorithm>

#include "ir/interp_expr.h"

namespace tenon::ir::interp {
namespace {

bool is_constant(const Linear& l) { return l.terms.empty() && l.per_lane == 0; }

Linear sum(Linear a, const Linear& b) {
  a.constant += b.constant;
  a.per_lane += b.per_lane;
  for (const Linear::Term& term : b.terms) {
    const auto same = std::find_if(a.terms.begin(), a.terms.end(),
                                   [&](const Linear::Term& x) { return x.slot == term.slot; });
    if (same == a.terms.end()) {
      a.terms.push_back(term);
    } else {
      same->factor += term.factor;
    }
  }
  return a;
}

Linear times(Linear a, uint64_t factor) {
  a.constant *= factor;
  a.per_lane *= factor;
  for (Linear::Term& term : a.terms) term.factor *= factor;
  return a;
}

std::optional<Linear> linear_binary(const Binary& n, const Slots& slots) {
  if (n.op != BinaryOp::kAdd && n.op != BinaryOp::kSub && n.op != BinaryOp::kMul)
    return std::nullopt;
  auto a = linear(n.a, slots);
  if (!a) return std::nullopt;
  auto b = linear(n.b, slots);
  if (!b) return std::nullopt;
  if (n.op == BinaryOp::kAdd) return sum(*std::move(a), *b);
  if (n.op == BinaryOp::kSub) return sum(*std::move(a), times(*b, ~uint64_t{0}));
  if (is_constant(*b)) return times(*std::move(a), b->constant);
  if (is_constant(*a)) return times(*std::move(b), a->constant);
  return std::nullopt;
}

// Both parts are scalars, which any lane may be asked of.
std::optional<Linear> linear_ramp(const Ramp& n, const Slots& slots) {
  const auto stride = linear(n.stride, slots);
  auto base = linear(n.base, slots);
  if (!stride || !is_constant(*stride) || !base) return std::nullopt;
  base->per_lane = stride->constant;
  return base;
}

std::optional<Linear> linear_var(const VarNode& n, const Slots& slots) {
  const auto it = slots.var_of.find(&n);
  if (it == slots.var_of.end()) return std::nullopt;  // whoever compiles it says so
  return Linear{.terms = {{it->second, 1}}};
}

}  // namespace

std::optional<Linear> linear(const Expr& e, const Slots& slots) {
  if (e.dtype().scalar() != kI64) return std::nullopt;
  switch (e.kind()) {
    case ExprKind::kIntImm:
      return Linear{.constant = static_cast<uint64_t>(e.as<IntImm>()->value), .terms = {}};
    case ExprKind::kVarNode:
      return linear_var(*e.as<VarNode>(), slots);
    case ExprKind::kBinary:
      return linear_binary(*e.as<Binary>(), slots);
    case ExprKind::kRamp:
      return linear_ramp(*e.as<Ramp>(), slots);
    case ExprKind::kBroadcast:
      return linear(e.as<Broadcast>()->value, slots);
    default:
      return std::nullopt;
  }
}

}  // namespace tenon::ir::interp
