// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "arith/rules.h"
#include "arith/simplifier.h"
#include "arith/simplify.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

constexpr int kMaxPasses = 8;
// Rewriting of rewritten nodes; far above what occurs, so that a bad pair of rules cannot hang us.
constexpr int kMaxDepth = 200;

// Constants in their own precision: f16 and bf16 are computed in f32, as ir.h says.
Expr fold_float(const ir::Binary& b) {
  const auto* x = b.a.as<ir::FloatImm>();
  const auto* y = b.b.as<ir::FloatImm>();
  if (x == nullptr || y == nullptr || std::isnan(x->value) || std::isnan(y->value)) {
    return Expr();
  }
  double v = 0;
  switch (b.op) {
    case BinaryOp::kAdd:
      v = x->value + y->value;
      break;
    case BinaryOp::kSub:
      v = x->value - y->value;
      break;
    case BinaryOp::kMul:
      v = x->value * y->value;
      break;
    case BinaryOp::kDiv:
      v = x->value / y->value;
      break;
    case BinaryOp::kEq:
      return ir::make_bool(x->value == y->value);
    case BinaryOp::kNe:
      return ir::make_bool(x->value != y->value);
    case BinaryOp::kLt:
      return ir::make_bool(x->value < y->value);
    case BinaryOp::kLe:
      return ir::make_bool(x->value <= y->value);
    case BinaryOp::kMin:
    case BinaryOp::kMinimum:
      return x->value <= y->value ? b.a : b.b;
    case BinaryOp::kMax:
    case BinaryOp::kMaximum:
      return x->value >= y->value ? b.a : b.b;
    default:
      return Expr();
  }
  // NaN payloads and infinities are left to run time.
  return std::isfinite(v) ? ir::make_float(b.a.dtype(), v) : Expr();
}

bool is_linear_op(const Expr& e) {
  if (const auto* b = e.as<ir::Binary>()) {
    return b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub || b->op == BinaryOp::kMul;
  }
  const auto* u = e.as<ir::Unary>();
  return u != nullptr && u->op == ir::UnaryOp::kNeg;
}

}  // namespace

int64_t node_count(const Expr& e) {
  int64_t n = 1;
  ir::for_each_child(e, [&](const Expr& c) { n += node_count(c); });
  return n;
}

Ranges& Simplifier::own_ranges() {
  if (!own_) {
    own_ = *ranges_;
    ranges_ = &*own_;
  }
  return *own_;
}

Simplifier::Assumption::Assumption(Simplifier& s) : s_(s) {
  undo_.facts = s.own_ranges().facts().size();
  outer_memo_.swap(s_.memo_);
}

Simplifier::Assumption::Assumption(Simplifier& s, const Expr& condition, bool holds)
    : Assumption(s) {
  assume(condition, holds, s.own_ranges(), undo_);
}

Simplifier::Assumption::~Assumption() {
  take_back(undo_, s_.own_ranges());
  outer_memo_.swap(s_.memo_);
}

Expr Simplifier::run(const Expr& e) {
  Expr current = expr(e);
  if (current.same_as(e)) {
    return current;
  }
  for (int i = 1; i < kMaxPasses; ++i) {
    Expr next = expr(current);
    if (next.same_as(current)) {
      break;
    }
    current = std::move(next);
  }
  return current;
}

Expr Simplifier::expr(const Expr& e) {
  switch (e.kind()) {
    case ir::ExprKind::kIntImm:
    case ir::ExprKind::kFloatImm:
      return e;
    case ir::ExprKind::kVarNode:
      return variable(e);
    default:
      break;
  }
  if (depth_ > kMaxDepth) {
    return replaced_.empty() ? e
                             : ir::substitute(e, replaced_);  // variables of loops that are gone
  }
  ++depth_;
  Expr result;
  if (!e->shared()) {
    result = dispatch(e);
  } else if (const auto it = memo_.find(e.get()); it != memo_.end()) {
    result = it->second.second;
  } else {
    result = dispatch(e);
    memo_[e.get()] = {e, result};
  }
  --depth_;
  return result;
}

Expr Simplifier::variable(const Expr& e) {
  const auto* v = e.as<ir::VarNode>();
  if (!replaced_.empty()) {
    if (const auto it = replaced_.find(v); it != replaced_.end()) {
      return it->second;
    }
  }
  const Interval r = ranges_->of(v);
  return r.is_point() && !e.dtype().is_float() ? ir::make_int(e.dtype(), r.lo) : e;
}

Expr Simplifier::dispatch(const Expr& e) {
  if (e.dtype().is_vector()) {
    return e.dtype().is_float() ? float_vector(e) : vector(e);
  }
  if (e.dtype() == ir::kI64 && is_linear_op(e)) {
    return linear(e);
  }
  switch (e.kind()) {
    case ir::ExprKind::kBinary: {
      const BinaryOp op = e.as<ir::Binary>()->op;
      return op == BinaryOp::kAnd || op == BinaryOp::kOr ? logic(e) : binary(e);
    }
    case ir::ExprKind::kSelect:
      return select(e);
    case ir::ExprKind::kUnary:
      return table(children(e));
    default:
      return children(e);
  }
}

Expr Simplifier::children(const Expr& e) {
  struct Walk : ir::Mutator {
    explicit Walk(Simplifier& s) : simplifier(s) {}
    using ir::Mutator::descend;
    Expr mutate(const Expr& c) override { return simplifier.expr(c); }
    Simplifier& simplifier;
  };
  return Walk(*this).descend(e);
}

Expr Simplifier::table(const Expr& e) {
  Expr r = apply_rules(e, [&](const Expr& condition) { return decide(condition) == true; });
  return r.defined() ? expr(r) : e;
}

Expr Simplifier::binary(const Expr& e) {
  Expr r = children(e);
  const auto* b = r.as<ir::Binary>();
  if (b == nullptr) {
    return r;
  }
  if (b->a.dtype() == ir::kI64) {
    switch (b->op) {
      case BinaryOp::kFloorDiv:
        return divide(r);
      case BinaryOp::kFloorMod:
        return modulo(r);
      case BinaryOp::kMin:
      case BinaryOp::kMax:
        return extremum(r);
      case BinaryOp::kBitXor:
        return exclusive_or(r);
      case BinaryOp::kEq:
      case BinaryOp::kNe:
      case BinaryOp::kLt:
      case BinaryOp::kLe:
        return compare(r);
      default:
        break;
    }
  }
  if (Expr folded = fold_float(*b); folded.defined()) {
    return folded;
  }
  return table(r);
}

// The conjuncts (of `||`: disjuncts) of `e` that the ranges in force do not decide; a constant if they
// decide all of it.
Expr Simplifier::undecided(const Expr& e, BinaryOp op) {
  if (const auto* b = e.as<ir::Binary>(); b != nullptr && b->op == op) {
    const Expr left = undecided(b->a, op);
    const Expr right = undecided(b->b, op);
    return left.same_as(b->a) && right.same_as(b->b) ? e : ir::make_binary(op, left, right);
  }
  const auto known = decide(e);
  return known ? ir::make_bool(*known) : e;
}

// The right side is evaluated only where the left one holds (does not hold, for `||`), so it may use
// that. The left one may use the right one only if nothing in the right one needs guarding.
Expr Simplifier::logic(const Expr& e) {
  const auto* b = e.as<ir::Binary>();
  const bool is_and = b->op == BinaryOp::kAnd;
  Expr left = expr(b->a);
  if (const auto known = ir::const_int(left)) {
    return (*known != 0) == is_and ? expr(b->b) : left;
  }
  Expr right;
  {
    const Assumption scope(*this, left, is_and);
    right = expr(b->b);
  }
  if (!ir::const_int(right) && !right.loads()) {
    const Assumption scope(*this, right, is_and);
    left = undecided(left, b->op);
  }
  if (left.same_as(b->a) && right.same_as(b->b)) {
    return table(e);
  }
  return table(ir::make_binary(b->op, left, right));
}

Expr Simplifier::select(const Expr& e) {
  const auto* s = e.as<ir::Select>();
  const Expr condition = expr(s->condition);
  if (const auto known = ir::const_int(condition)) {
    return expr(*known != 0 ? s->on_true : s->on_false);
  }
  Expr on_true, on_false;
  {
    const Assumption scope(*this, condition, true);
    on_true = expr(s->on_true);
  }
  {
    const Assumption scope(*this, condition, false);
    on_false = expr(s->on_false);
  }
  if (condition.same_as(s->condition) && on_true.same_as(s->on_true) &&
      on_false.same_as(s->on_false)) {
    return table(e);
  }
  return table(ir::select(condition, on_true, on_false));
}

Expr Simplifier::accept(const Expr& candidate, const Expr& e) {
  Expr r = expr(candidate);
  return node_count(r) <= node_count(e) ? r : e;
}

Expr simplify(const Expr& e, const Ranges& ranges) { return Simplifier(ranges).run(e); }

std::optional<bool> prove(const Expr& condition, const Ranges& ranges) {
  Simplifier s(ranges);
  const auto known = ir::const_int(s.run(condition));
  return known ? std::optional<bool>(*known != 0) : std::nullopt;
}

}  // namespace tenon::arith
