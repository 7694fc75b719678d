// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/hoist_guards.h"

#include "ir/build.h"
#include "ir/visit.h"
#include "lower/conditions.h"

namespace tenon::lower {

namespace {

ir::Stmt out_of_loop(const ir::Stmt& s, const ir::For& loop, const Written& written) {
  const auto* guard = loop.body.as<ir::If>();
  if (guard == nullptr || guard->else_case.defined()) return s;
  ir::Expr stay = ir::make_bool(true);
  ir::Expr leave = ir::make_bool(true);
  for (const ir::Expr& c : conjuncts(guard->condition)) {
    const bool movable = !ir::uses_var(c, loop.var.node()) && is_steady(c, written);
    (movable ? leave : stay) = ir::logical_and(movable ? leave : stay, c);
  }
  if (ir::is_const_true(leave)) return s;
  const ir::Stmt body = ir::make_if(stay, guard->then_case);
  return ir::make_if(leave,
                     ir::make_for(loop.var, loop.min, loop.extent, loop.loop_kind, body, loop.tag));
}

ir::Stmt hoist(const ir::Stmt& s, const Written& written) {
  if (const auto* loop = s.as<ir::For>()) return out_of_loop(s, *loop, written);
  if (const auto* outer = s.as<ir::If>(); outer != nullptr && !outer->else_case.defined()) {
    const auto* inner = outer->then_case.as<ir::If>();
    if (inner == nullptr || inner->else_case.defined()) return s;
    return ir::make_if(ir::logical_and(outer->condition, inner->condition), inner->then_case);
  }
  if (const auto* a = s.as<ir::Allocate>()) {
    const auto* guard = a->body.as<ir::If>();
    if (guard == nullptr || guard->else_case.defined() || !is_steady(guard->condition, written))
      return s;
    return ir::make_if(guard->condition, ir::allocate(a->buffer, guard->then_case));
  }
  return s;
}

}  // namespace

ir::Stmt hoist_guards(const ir::Stmt& s, const PassContext&) {
  const Written written = written_in(s);
  return ir::rewrite(
      s, [](const ir::Expr& e) { return e; }, [&](const ir::Stmt& x) { return hoist(x, written); });
}

}  // namespace tenon::lower
