// SPDX-License-Identifier: Apache-2.0
#include "ir/visit.h"

#include "ir/build.h"

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

// The list with each element mutated, or nothing if all came back the same: the common case does not
// allocate.
template <class T, class F>
std::optional<std::vector<T>> mutate_all(const std::vector<T>& list, const F& fn) {
  std::optional<std::vector<T>> changed;
  for (size_t i = 0; i < list.size(); ++i) {
    T next = fn(list[i]);
    if (!changed && next.same_as(list[i])) {
      continue;
    }
    if (!changed) {
      changed.emplace(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i));
      changed->reserve(list.size());
    }
    changed->push_back(std::move(next));
  }
  return changed;
}

Expr rebuild_unary(UnaryOp op, Expr a) {
  switch (op) {
    case UnaryOp::kNot:
      return logical_not(std::move(a));
    case UnaryOp::kNeg:
      return -std::move(a);
    case UnaryOp::kBitNot:
      return bit_not(std::move(a));
  }
  return a;
}

// `mutate` is a callable for both Expr and Stmt; F is a concrete type so that calls inline.
template <class F>
Expr descend_load(const Expr& e, const F& mutate) {
  const auto* n = e.as<Load>();
  auto indices = mutate_all(n->indices, mutate);
  Expr p = n->predicate.defined() ? mutate(n->predicate) : Expr();
  if (!indices && p.same_as(n->predicate)) {
    return e;
  }
  return load(n->buffer, indices ? std::move(*indices) : n->indices, std::move(p));
}

template <class F>
Expr descend_expr(const Expr& e, const F& mutate) {
  switch (e.kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
      return e;
    case ExprKind::kCast: {
      const auto* n = e.as<Cast>();
      Expr v = mutate(n->value);
      return v.same_as(n->value) ? e : cast(n->dtype, std::move(v));
    }
    case ExprKind::kUnary: {
      const auto* n = e.as<Unary>();
      Expr a = mutate(n->a);
      return a.same_as(n->a) ? e : rebuild_unary(n->op, std::move(a));
    }
    case ExprKind::kBinary: {
      const auto* n = e.as<Binary>();
      Expr a = mutate(n->a);
      Expr b = mutate(n->b);
      const bool same = a.same_as(n->a) && b.same_as(n->b);
      return same ? e : make_binary(n->op, std::move(a), std::move(b));
    }
    case ExprKind::kSelect: {
      const auto* n = e.as<Select>();
      Expr c = mutate(n->condition);
      Expr t = mutate(n->on_true);
      Expr f = mutate(n->on_false);
      const bool same = c.same_as(n->condition) && t.same_as(n->on_true) && f.same_as(n->on_false);
      return same ? e : select(std::move(c), std::move(t), std::move(f));
    }
    case ExprKind::kLoad:
      return descend_load(e, mutate);
    case ExprKind::kCall: {
      const auto* n = e.as<Call>();
      auto args = mutate_all(n->args, mutate);
      return args ? call(n->fn, std::move(*args)) : e;
    }
    case ExprKind::kRamp: {
      const auto* n = e.as<Ramp>();
      Expr b = mutate(n->base);
      Expr s = mutate(n->stride);
      const bool same = b.same_as(n->base) && s.same_as(n->stride);
      return same ? e : ramp(std::move(b), std::move(s), n->dtype.lanes);
    }
    case ExprKind::kBroadcast: {
      const auto* n = e.as<Broadcast>();
      Expr v = mutate(n->value);
      return v.same_as(n->value) ? e : broadcast(std::move(v), n->dtype.lanes);
    }
    case ExprKind::kVectorReduce: {
      const auto* n = e.as<VectorReduce>();
      Expr v = mutate(n->value);
      return v.same_as(n->value) ? e : vector_reduce(n->op, std::move(v), n->dtype.lanes);
    }
  }
  return e;
}

template <class F>
Stmt descend_store(const Stmt& s, const F& mutate) {
  const auto* n = s.as<Store>();
  auto indices = mutate_all(n->indices, mutate);
  Expr v = mutate(n->value);
  Expr p = n->predicate.defined() ? mutate(n->predicate) : Expr();
  if (!indices && v.same_as(n->value) && p.same_as(n->predicate)) {
    return s;
  }
  return store(n->buffer, indices ? std::move(*indices) : n->indices, std::move(v), std::move(p));
}

template <class F>
Stmt descend_stmt(const Stmt& s, const F& mutate) {
  switch (s.kind()) {
    case StmtKind::kFor: {
      const auto* n = s.as<For>();
      Expr min = mutate(n->min);
      Expr extent = mutate(n->extent);
      Stmt body = mutate(n->body);
      if (min.same_as(n->min) && extent.same_as(n->extent) && body.same_as(n->body)) {
        return s;
      }
      return make_for(n->var, std::move(min), std::move(extent), n->loop_kind, std::move(body),
                      n->tag);
    }
    case StmtKind::kStore:
      return descend_store(s, mutate);
    case StmtKind::kIf: {
      const auto* n = s.as<If>();
      Expr c = mutate(n->condition);
      Stmt t = mutate(n->then_case);
      Stmt f = n->else_case.defined() ? mutate(n->else_case) : Stmt();
      const bool same =
          c.same_as(n->condition) && t.same_as(n->then_case) && f.same_as(n->else_case);
      return same ? s : make_if(std::move(c), std::move(t), std::move(f));
    }
    case StmtKind::kBlock: {
      auto stmts = mutate_all(s.as<Block>()->stmts, mutate);
      return stmts ? block(std::move(*stmts)) : s;
    }
    case StmtKind::kAllocate: {
      const auto* n = s.as<Allocate>();
      Stmt body = mutate(n->body);
      return body.same_as(n->body) ? s : allocate(n->buffer, std::move(body));
    }
    case StmtKind::kBarrier:
      return s;
    case StmtKind::kPrefetch: {
      const auto* n = s.as<Prefetch>();
      auto indices = mutate_all(n->indices, mutate);
      return indices ? prefetch(n->buffer, std::move(*indices)) : s;
    }
  }
  return s;
}

struct Rewriter {
  FunctionRef<Expr(const Expr&)> on_expr;
  FunctionRef<Stmt(const Stmt&)> on_stmt;
  Expr operator()(const Expr& e) const { return on_expr(descend_expr(e, *this)); }
  Stmt operator()(const Stmt& s) const {
    Stmt t = descend_stmt(s, *this);
    return on_stmt ? on_stmt(t) : t;
  }
};

struct LoadRewriter {
  FunctionRef<Expr(const Load&)> on_load;
  Expr operator()(const Expr& e) const {
    if (!e.loads()) {
      return e;
    }
    const Expr f = descend_expr(e, *this);
    const auto* load = f.as<Load>();
    return load != nullptr ? on_load(*load) : f;
  }
  Stmt operator()(const Stmt& s) const { return s; }
};

struct Substituter {
  const VarMap& map;
  Expr operator()(const Expr& e) const {
    if (const auto* v = e.as<VarNode>()) {
      const auto it = map.find(v);
      return it == map.end() ? e : it->second;
    }
    return descend_expr(e, *this);
  }
  Stmt operator()(const Stmt& s) const { return descend_stmt(s, *this); }
};

bool uses(const Expr& e, const VarNode* v) {
  if (e.get() == v) {
    return true;
  }
  bool found = false;
  children(e, [&](const Expr& child) { found = found || uses(child, v); });
  return found;
}

}  // namespace

Expr Mutator::descend(const Expr& e) {
  struct Child {
    Mutator* self;
    Expr operator()(const Expr& x) const { return self->mutate(x); }
  };
  return descend_expr(e, Child{this});
}

Stmt Mutator::descend(const Stmt& s) {
  struct Child {
    Mutator* self;
    Expr operator()(const Expr& x) const { return self->mutate(x); }
    Stmt operator()(const Stmt& x) const { return self->mutate(x); }
  };
  return descend_stmt(s, Child{this});
}

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

Expr rewrite(const Expr& e, FunctionRef<Expr(const Expr&)> fn) { return Rewriter{fn, nullptr}(e); }

Stmt rewrite(const Stmt& s, FunctionRef<Expr(const Expr&)> on_expr,
             FunctionRef<Stmt(const Stmt&)> on_stmt) {
  return Rewriter{on_expr, on_stmt}(s);
}

Expr rewrite_loads(const Expr& e, FunctionRef<Expr(const Load&)> fn) { return LoadRewriter{fn}(e); }

Expr substitute(const Expr& e, const VarMap& map) { return Substituter{map}(e); }
Stmt substitute(const Stmt& s, const VarMap& map) { return Substituter{map}(s); }

bool reads(const Expr& e, const Buffer& b) {
  if (!e.loads()) {
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
