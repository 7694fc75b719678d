// SPDX-License-Identifier: Apache-2.0
#include "ir/visit.h"

namespace tenon::ir {
namespace {

// Calls fn on each child expression of a node; templates so that the hot walks inline it.
template <class F>
void children(const Expr& e, F&& fn) {
  const auto each = [&](const Expr& child) {
    if (child.defined()) {
      fn(child);
    }
  };
  switch (e.kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
      break;
    case ExprKind::kCast:
      each(e.as<Cast>()->value);
      break;
    case ExprKind::kUnary:
      each(e.as<Unary>()->a);
      break;
    case ExprKind::kBinary: {
      const auto* n = e.as<Binary>();
      each(n->a);
      each(n->b);
      break;
    }
    case ExprKind::kSelect: {
      const auto* n = e.as<Select>();
      each(n->condition);
      each(n->on_true);
      each(n->on_false);
      break;
    }
    case ExprKind::kLoad: {
      const auto* n = e.as<Load>();
      for (const Expr& i : n->indices) {
        each(i);
      }
      each(n->predicate);
      break;
    }
    case ExprKind::kCall: {
      for (const Expr& a : e.as<Call>()->args) {
        each(a);
      }
      break;
    }
    case ExprKind::kRamp: {
      const auto* n = e.as<Ramp>();
      each(n->base);
      each(n->stride);
      break;
    }
    case ExprKind::kBroadcast:
      each(e.as<Broadcast>()->value);
      break;
    case ExprKind::kVectorReduce:
      each(e.as<VectorReduce>()->value);
      break;
  }
}

// The expressions directly inside a statement, and the statements directly inside it.
template <class OnExpr, class OnStmt>
void children(const Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt) {
  const auto expr = [&](const Expr& e) {
    if (e.defined()) {
      on_expr(e);
    }
  };
  const auto stmt = [&](const Stmt& t) {
    if (t.defined()) {
      on_stmt(t);
    }
  };
  switch (s.kind()) {
    case StmtKind::kFor: {
      const auto* n = s.as<For>();
      expr(n->min);
      expr(n->extent);
      stmt(n->body);
      break;
    }
    case StmtKind::kStore: {
      const auto* n = s.as<Store>();
      for (const Expr& i : n->indices) {
        expr(i);
      }
      expr(n->value);
      expr(n->predicate);
      break;
    }
    case StmtKind::kIf: {
      const auto* n = s.as<If>();
      expr(n->condition);
      stmt(n->then_case);
      stmt(n->else_case);
      break;
    }
    case StmtKind::kBlock: {
      for (const Stmt& t : s.as<Block>()->stmts) {
        stmt(t);
      }
      break;
    }
    case StmtKind::kAllocate:
      stmt(s.as<Allocate>()->body);
      break;
    case StmtKind::kBarrier:
    case StmtKind::kCombine:
      break;
    case StmtKind::kPrefetch: {
      for (const Expr& i : s.as<Prefetch>()->indices) {
        expr(i);
      }
      break;
    }
  }
}

template <class F>
void walk(const Expr& e, const F& fn) {
  fn(e);
  children(e, [&](const Expr& child) { walk(child, fn); });
}

template <class F>
void walk_exprs(const Stmt& s, const F& fn) {
  children(
      s, [&](const Expr& e) { walk(e, fn); }, [&](const Stmt& t) { walk_exprs(t, fn); });
}

bool uses(const Expr& e, const VarNode* v) {
  if (e.get() == v) {
    return true;
  }
  bool found = false;
  children(e, [&](const Expr& child) { found = found || uses(child, v); });
  return found;
}

}  // namespace

void for_each_child(const Expr& e, FunctionRef<void(const Expr&)> fn) { children(e, fn); }

void visit(const Expr& e, FunctionRef<void(const Expr&)> fn) {
  if (e.defined()) {
    walk(e, fn);
  }
}

void visit(const Stmt& s, FunctionRef<void(const Expr&)> on_expr) {
  if (s.defined()) {
    walk_exprs(s, on_expr);
  }
}

void visit(const Stmt& s, FunctionRef<void(const Stmt&)> on_stmt) {
  if (!s.defined()) {
    return;
  }
  on_stmt(s);
  children(
      s, [](const Expr&) {}, [&](const Stmt& t) { visit(t, on_stmt); });
}

bool reads(const Expr& e, const Buffer& b) {
  if ((e.load_mask() & b.mask()) == 0) {
    return false;
  }
  if (const auto* load = e.as<Load>(); load != nullptr && load->buffer.same_as(b)) {
    return true;
  }
  bool found = false;
  children(e, [&](const Expr& child) { found = found || reads(child, b); });
  return found;
}

void visit_loads(const Expr& e, FunctionRef<void(const Load&)> fn) {
  if (!e.loads()) {
    return;
  }
  if (const auto* load = e.as<Load>()) {
    fn(*load);
  }
  children(e, [&](const Expr& child) { visit_loads(child, fn); });
}

bool uses_var(const Expr& e, const VarNode* v) { return e.defined() && uses(e, v); }

bool uses_var(const Stmt& s, const VarNode* v) {
  if (!s.defined()) {
    return false;
  }
  bool found = false;
  children(
      s, [&](const Expr& e) { found = found || uses(e, v); },
      [&](const Stmt& t) { found = found || uses_var(t, v); });
  return found;
}

}  // namespace tenon::ir
