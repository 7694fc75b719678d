// SPDX-License-Identifier: Apache-2.0
// Mutators and rewriters of visit.h: a node is made again only where a child changed.
#include <optional>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::ir {
namespace {

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
    case StmtKind::kCombine:
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

Expr rewrite(const Expr& e, FunctionRef<Expr(const Expr&)> fn) { return Rewriter{fn, nullptr}(e); }

Stmt rewrite(const Stmt& s, FunctionRef<Expr(const Expr&)> on_expr,
             FunctionRef<Stmt(const Stmt&)> on_stmt) {
  return Rewriter{on_expr, on_stmt}(s);
}

Expr rewrite_loads(const Expr& e, FunctionRef<Expr(const Load&)> fn) { return LoadRewriter{fn}(e); }

Expr substitute(const Expr& e, const VarMap& map) { return Substituter{map}(e); }
Stmt substitute(const Stmt& s, const VarMap& map) { return Substituter{map}(s); }

}  // namespace tenon::ir
