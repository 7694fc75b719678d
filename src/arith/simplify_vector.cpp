// SPDX-License-Identifier: Apache-2.0
// Vectors. An integer or bool vector is written as a scalar expression over the lane number, which is
// simplified like any other and written back:
//   ramp(a, s) + broadcast(b)   ->  a + lane*s + b   ->  ramp(a + b, s)
//   ramp(0, 1, 8) < broadcast(8)  ->  lane < 8       ->  broadcast(true)
// Vectors without such a form (loads, casts of floats) become variables on the way.
#include "arith/simplifier.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

class Lanes {
 public:
  explicit Lanes(int lanes) : lanes_(lanes), lane_("lane") {}
  const ir::Var& lane() const { return lane_; }

  // The value of one lane.
  Expr to_scalar(const Expr& e) {
    switch (e.kind()) {
      case ir::ExprKind::kBroadcast:
        return e.as<ir::Broadcast>()->value;
      case ir::ExprKind::kRamp: {
        const auto* r = e.as<ir::Ramp>();
        return e.dtype().scalar() == ir::kI64 ? r->base + lane_ * r->stride : opaque(e);
      }
      case ir::ExprKind::kBinary: {
        const auto* b = e.as<ir::Binary>();
        if (b->a.dtype().is_float()) {
          return opaque(e);
        }
        return ir::make_binary(b->op, to_scalar(b->a), to_scalar(b->b));
      }
      case ir::ExprKind::kUnary: {
        const auto* u = e.as<ir::Unary>();
        const Expr a = to_scalar(u->a);
        return u->op == ir::UnaryOp::kNot   ? ir::logical_not(a)
               : u->op == ir::UnaryOp::kNeg ? -a
                                            : ir::bit_not(a);
      }
      case ir::ExprKind::kSelect: {
        const auto* s = e.as<ir::Select>();
        return ir::select(to_scalar(s->condition), to_scalar(s->on_true), to_scalar(s->on_false));
      }
      default:
        return opaque(e);
    }
  }

  Expr to_vector(const Expr& e) const {
    if (!varies(e)) {
      return ir::broadcast(e, lanes_);
    }
    if (e.same_as(lane_)) {
      return ir::ramp(Expr(0), Expr(1), lanes_);
    }
    if (const auto* v = e.as<ir::VarNode>()) {
      return vectors_.at(v);
    }
    if (e.dtype() == ir::kI64) {
      if (Expr r = sum_to_vector(e); r.defined()) {
        return r;
      }
    }
    if (const auto* b = e.as<ir::Binary>()) {
      return ir::make_binary(b->op, to_vector(b->a), to_vector(b->b));
    }
    if (const auto* u = e.as<ir::Unary>()) {
      const Expr a = to_vector(u->a);
      return u->op == ir::UnaryOp::kNot   ? ir::logical_not(a)
             : u->op == ir::UnaryOp::kNeg ? -a
                                          : ir::bit_not(a);
    }
    const auto* s = e.as<ir::Select>();
    TENON_CHECK(s != nullptr) << "a lane of a vector has an unexpected form";
    return ir::select(to_vector(s->condition), to_vector(s->on_true), to_vector(s->on_false));
  }

 private:
  Expr opaque(const Expr& e) {
    for (const auto& [v, vector] : vectors_) {
      if (same_expr(vector, e)) {
        return Expr(v);
      }
    }
    ir::Var v("lanes", e.dtype().scalar());
    held_.push_back(v);
    vectors_[v.node()] = e;
    return v;
  }

  bool varies(const Expr& e) const {
    if (const auto* v = e.as<ir::VarNode>()) {
      return v == lane_.node() || vectors_.contains(v);
    }
    bool found = false;
    ir::for_each_child(e, [&](const Expr& c) { found = found || varies(c); });
    return found;
  }

  // A linear form: what does not vary and the lane make a ramp, other atoms are added to it.
  Expr sum_to_vector(const Expr& e) const {
    const Linear l = to_linear(e);
    if (l.terms.size() == 1 && l.terms[0].first.same_as(e)) {
      return Expr();
    }
    Linear base;
    base.constant = l.constant;
    Expr stride = Expr(0);
    std::vector<std::pair<Expr, int64_t>> others;
    for (const auto& [atom, k] : l.terms) {
      if (const Expr s = stride_of(atom); s.defined()) {
        stride = stride + s * Expr(k);
      } else if (!varies(atom)) {
        base.terms.emplace_back(atom, k);
      } else {
        others.emplace_back(atom, k);
      }
    }
    Expr sum;
    if (!ir::is_const(stride, 0)) {
      sum = ir::ramp(to_expr(base), stride, lanes_);
    } else if (!base.is_constant() || base.constant != 0) {
      sum = ir::broadcast(to_expr(base), lanes_);
    }
    for (const auto& [atom, k] : others) {
      const Expr v = to_vector(atom);
      const Expr scaled = std::abs(k) == 1 ? v : v * ir::broadcast(Expr(std::abs(k)), lanes_);
      sum = !sum.defined() ? (k < 0 ? -scaled : scaled) : k < 0 ? sum - scaled : sum + scaled;
    }
    return sum;
  }

  // n of an atom lane*n, 1 of the lane itself.
  Expr stride_of(const Expr& atom) const {
    if (atom.same_as(lane_)) {
      return Expr(1);
    }
    const auto* b = atom.as<ir::Binary>();
    if (b == nullptr || b->op != BinaryOp::kMul) {
      return Expr();
    }
    if (b->a.same_as(lane_) && !varies(b->b)) {
      return b->b;
    }
    return b->b.same_as(lane_) && !varies(b->a) ? b->a : Expr();
  }

  int lanes_;
  ir::Var lane_;
  std::vector<ir::Var> held_;
  ir::VarMap vectors_;
};

}  // namespace

Expr Simplifier::vector(const Expr& e) {
  Expr r = children(e);
  switch (r.kind()) {
    case ir::ExprKind::kBinary:
      if (r.as<ir::Binary>()->a.dtype().is_float()) {
        return float_vector(r);
      }
      break;
    case ir::ExprKind::kUnary:
    case ir::ExprKind::kSelect:
      break;
    case ir::ExprKind::kRamp:
      if (const auto* ramp = r.as<ir::Ramp>(); ir::is_const(ramp->stride, 0)) {
        return ir::broadcast(ramp->base, r.dtype().lanes);
      }
      return r;
    default:
      return r;
  }
  Lanes lanes(r.dtype().lanes);
  const Expr scalar = lanes.to_scalar(r);
  const Assumption scope(*this);
  own_ranges().bind(lanes.lane(), {0, r.dtype().lanes - 1});
  const Expr out = lanes.to_vector(expr(scalar));
  own_ranges().unbind(lanes.lane().node());
  return same_expr(out, r) || node_count(out) > node_count(r) ? r : out;
}

// Operations on broadcast operands move inside the broadcast; the rest is left to the table.
Expr Simplifier::float_vector(const Expr& e) {
  Expr r = children(e);
  if (const auto* s = r.as<ir::Select>()) {
    const auto* c = s->condition.as<ir::Broadcast>();
    const auto* t = s->on_true.as<ir::Broadcast>();
    const auto* f = s->on_false.as<ir::Broadcast>();
    if (c != nullptr && t != nullptr && f != nullptr) {
      return ir::broadcast(expr(ir::select(c->value, t->value, f->value)), r.dtype().lanes);
    }
    return table(r);
  }
  const auto* b = r.as<ir::Binary>();
  if (b == nullptr) {
    return r;
  }
  const auto* x = b->a.as<ir::Broadcast>();
  const auto* y = b->b.as<ir::Broadcast>();
  if (x != nullptr && y != nullptr) {
    return ir::broadcast(expr(ir::make_binary(b->op, x->value, y->value)), r.dtype().lanes);
  }
  return table(r);
}

}  // namespace tenon::arith
