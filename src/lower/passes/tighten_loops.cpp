// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/tighten_loops.h"

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "lower/conditions.h"

namespace tenon::lower {

namespace {

// The part of a slack that does not involve `v`; nothing if v hides inside another atom.
std::optional<arith::Linear> rest_of(const arith::Linear& slack, const ir::VarNode* v) {
  arith::Linear rest;
  rest.constant = slack.constant;
  for (const auto& [atom, k] : slack.terms) {
    if (atom.as<ir::VarNode>() == v) continue;
    if (ir::uses_var(atom, v)) return std::nullopt;
    rest.terms.emplace_back(atom, k);
  }
  return rest;
}

class Tightener : public ir::Mutator {
 public:
  explicit Tightener(Written written) : written_(std::move(written)) {}
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& s) override {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) return descend(s);
    ranges_.bind(loop->var, range_of(*loop, ranges_));
    const ir::Stmt body = mutate(loop->body);
    ir::Stmt out = body.same_as(loop->body) ? s
                                            : ir::make_for(loop->var, loop->min, loop->extent,
                                                           loop->loop_kind, body, loop->tag);
    ranges_.unbind(loop->var.node());
    return out.as<ir::For>() != nullptr ? tighten(out, *out.as<ir::For>()) : out;
  }

 private:
  ir::Stmt tighten(const ir::Stmt& s, const ir::For& loop) {
    const auto* guard = loop.body.as<ir::If>();
    if (guard == nullptr || guard->else_case.defined() || loop.loop_kind == ir::ForKind::kThread)
      return s;
    ir::Expr lo = loop.min;
    ir::Expr hi = loop.min + loop.extent;  // exclusive
    ir::Expr keep = ir::make_bool(true);
    for (const ir::Expr& c : conjuncts(guard->condition)) {
      if (!absorb(c, loop, lo, hi)) keep = ir::logical_and(keep, c);
    }
    if (lo.same_as(loop.min) && hi.defined() && ir::is_const_true(keep) == false &&
        keep.same_as(guard->condition)) {
      return s;
    }
    lo = arith::simplify(lo, ranges_);
    ir::Expr extent = arith::simplify(hi - lo, ranges_);
    // A loop that may be empty must not count backwards.
    if (arith::interval_of(extent, ranges_).lo < 0)
      extent = arith::simplify(ir::max(extent, 0), ranges_);
    if (ir::is_const(extent, 0)) return ir::no_op();
    const ir::Stmt body = ir::make_if(keep, guard->then_case);
    return ir::make_for(loop.var, lo, extent, loop.loop_kind, body, loop.tag);
  }

  bool absorb(const ir::Expr& c, const ir::For& loop, ir::Expr& lo, ir::Expr& hi) {
    const auto slack = slack_of(c);
    if (!slack) return false;
    const int64_t k = slack->coefficient(loop.var.node());
    const auto rest = rest_of(*slack, loop.var.node());
    if (k == 0 || !rest) return false;
    const bool constant = rest->terms.empty();
    if (loop.loop_kind != ir::ForKind::kSerial && !constant) return false;
    const ir::Expr r = arith::to_expr(*rest);
    if (!is_steady(r, written_)) return false;
    if (k > 0) {  // v >= -rest / k, rounded up
      if (loop.loop_kind == ir::ForKind::kParallel) return false;
      const ir::Expr bound = k == 1 ? ir::Expr(0) - r : ir::Expr(0) - ir::floor_div(r, k);
      lo = ir::max(lo, bound);
    } else {  // v <= rest / -k
      const ir::Expr bound = (k == -1 ? r : ir::floor_div(r, -k)) + ir::Expr(1);
      hi = ir::min(hi, bound);
    }
    lo = arith::simplify(lo, ranges_);
    hi = arith::simplify(hi, ranges_);
    return true;
  }

  arith::Ranges ranges_;
  Written written_;
};

}  // namespace

ir::Stmt tighten_loops(const ir::Stmt& s, const PassContext&) {
  Tightener t(written_in(s));
  return t.mutate(s);
}

}  // namespace tenon::lower
