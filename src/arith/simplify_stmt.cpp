// SPDX-License-Identifier: Apache-2.0
#include "arith/simplifier.h"
#include "arith/simplify.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::Expr;
using ir::Stmt;

class StmtSimplifier : public ir::Mutator {
 public:
  explicit StmtSimplifier(const Ranges& ranges) : simplifier_(ranges) {}

  Expr mutate(const Expr& e) override { return simplifier_.run(e); }

  Stmt mutate(const Stmt& s) override {
    switch (s.kind()) {
      case ir::StmtKind::kFor:
        return loop(s);
      case ir::StmtKind::kIf:
        return branch(s);
      case ir::StmtKind::kBlock:
        return sequence(s);
      case ir::StmtKind::kAllocate: {
        Stmt r = descend(s);
        const auto* a = r.as<ir::Allocate>();
        return a != nullptr && ir::is_no_op(a->body) ? a->body : r;
      }
      default:
        return descend(s);
    }
  }

 private:
  Stmt loop(const Stmt& s) {
    const auto* f = s.as<ir::For>();
    const Expr min = mutate(f->min);
    const Expr extent = mutate(f->extent);
    const Interval count = interval_of(to_linear(extent), simplifier_.ranges());
    if (count.hi <= 0) {
      return ir::no_op();
    }
    if (ir::is_const(extent, 1) && f->loop_kind != ir::ForKind::kThread) {
      const Simplifier::Assumption scope(simplifier_);
      simplifier_.replace_var(f->var.node(), min);
      Stmt body = mutate(f->body);
      simplifier_.keep_var(f->var.node());
      return body;
    }
    Stmt body = loop_body(*f, min, extent);
    if (ir::is_no_op(body)) {
      return body;
    }
    if (min.same_as(f->min) && extent.same_as(f->extent) && body.same_as(f->body)) {
      return s;
    }
    return ir::make_for(f->var, min, extent, f->loop_kind, body, f->tag);
  }

  Stmt loop_body(const ir::For& f, const Expr& min, const Expr& extent) {
    Simplifier::Assumption scope(simplifier_);
    Ranges& ranges = simplifier_.own_ranges();
    scope.undo().saved.emplace_back(f.var.node(), ranges.of(f.var.node()));
    ranges.bind(f.var, {});
    const auto first = ir::const_int(min);
    const auto count = ir::const_int(extent);
    if (first && count) {
      ranges.bind(f.var, {*first, *first + *count - 1});
      return mutate(f.body);
    }
    // Inside, extent >= 1 and min <= var <= min + extent - 1.
    const Linear start = to_linear(min);
    const Linear size = to_linear(extent);
    const Linear var{{{f.var, 1}}, 0};
    const Linear one{{}, 1};
    assume_non_negative(size - one, ranges, scope.undo());
    assume_non_negative(var - start, ranges, scope.undo());
    assume_non_negative(start + size - one - var, ranges, scope.undo());
    return mutate(f.body);
  }

  Stmt branch(const Stmt& s) {
    const auto* n = s.as<ir::If>();
    const Expr condition = mutate(n->condition);
    if (const auto known = ir::const_int(condition)) {
      if (*known != 0) {
        return mutate(n->then_case);
      }
      return n->else_case.defined() ? mutate(n->else_case) : ir::no_op();
    }
    Stmt then_case = under(condition, true, n->then_case);
    Stmt else_case = n->else_case.defined() ? under(condition, false, n->else_case) : Stmt();
    if (else_case.defined() && ir::is_no_op(else_case)) {
      else_case = Stmt();
    }
    if (ir::is_no_op(then_case)) {
      if (!else_case.defined()) {
        return then_case;
      }
      return ir::make_if(mutate(ir::logical_not(condition)), else_case);
    }
    if (condition.same_as(n->condition) && then_case.same_as(n->then_case) &&
        else_case.same_as(n->else_case)) {
      return s;
    }
    return ir::make_if(condition, then_case, else_case);
  }

  Stmt under(const Expr& condition, bool holds, const Stmt& s) {
    const Simplifier::Assumption scope(simplifier_, condition, holds);
    return mutate(s);
  }

  Stmt sequence(const Stmt& s) {
    const auto* b = s.as<ir::Block>();
    std::vector<Stmt> kept;
    kept.reserve(b->stmts.size());
    bool changed = false;
    for (const Stmt& child : b->stmts) {
      Stmt next = mutate(child);
      changed = changed || !next.same_as(child);
      if (ir::is_no_op(next)) {
        changed = true;
      } else {
        kept.push_back(std::move(next));
      }
    }
    return changed || kept.size() == 1 ? ir::block(std::move(kept)) : s;
  }

  Simplifier simplifier_;
};

}  // namespace

Stmt simplify(const Stmt& s, const Ranges& ranges) { return StmtSimplifier(ranges).mutate(s); }

}  // namespace tenon::arith
