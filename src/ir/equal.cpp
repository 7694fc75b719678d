// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace tenon::ir {
namespace {

bool same_storage(const BufferNode& a, const BufferNode& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides && a.scope == b.scope;
}

// Walks two trees side by side. `pairs_` says which variable or buffer of the one stands for which of
// the other: those bound around the current place and, with by_order, free ones already met.
class Comparer {
 public:
  explicit Comparer(bool by_order) : by_order_(by_order) {}
  bool same(const Expr& a, const Expr& b);
  bool same(const Stmt& a, const Stmt& b);

 private:
  template <class T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) {
        return false;
      }
    }
    return true;
  }
  bool same_node(const Expr& a, const Expr& b);
  bool same(const Buffer& a, const Buffer& b) {
    return same_name(a.get(), b.get(), same_storage(*a, *b));
  }
  // Whether a stands for b; a free pair that is new with by_order is taken up if `alike`.
  bool same_name(const void* a, const void* b, bool alike);
  // The bodies of two binders, with a standing for b.
  bool same_inside(const void* a, const void* b, const Stmt& in_a, const Stmt& in_b);
  bool same_loop(const For* a, const For* b);
  bool same_allocation(const Allocate* a, const Allocate* b);
  void bind(const void* a, const void* b) {
    pairs_.emplace_back(a, b);
    renamed_ += a == b ? 0 : 1;
  }
  void unbind() {
    renamed_ -= pairs_.back().first == pairs_.back().second ? 0 : 1;
    pairs_.pop_back();
  }

  bool by_order_;
  std::vector<std::pair<const void*, const void*>> pairs_;
  int renamed_ = 0;  // pairs of different handles
};

bool Comparer::same_name(const void* a, const void* b, bool alike) {
  for (size_t i = pairs_.size(); i-- > 0;) {  // the innermost binding counts
    if (pairs_[i].first == a || pairs_[i].second == b) {
      return pairs_[i] == std::pair(a, b);
    }
  }
  if (!by_order_) {
    return a == b;
  }
  if (alike) {
    bind(a, b);
  }
  return alike;
}

bool Comparer::same(const Expr& a, const Expr& b) {
  if (a.same_as(b) && (!a.defined() || (!by_order_ && renamed_ == 0))) {
    return true;
  }
  if (!a.defined() || !b.defined() || a.kind() != b.kind() || a.dtype() != b.dtype()) {
    return false;
  }
  return same_node(a, b);
}

bool Comparer::same_node(const Expr& a, const Expr& b) {
  switch (a.kind()) {
    case ExprKind::kIntImm:
      return a.as<IntImm>()->value == b.as<IntImm>()->value;
    case ExprKind::kFloatImm: {
      return std::bit_cast<uint64_t>(a.as<FloatImm>()->value) ==
             std::bit_cast<uint64_t>(b.as<FloatImm>()->value);
    }
    case ExprKind::kVarNode:
      return same_name(a.get(), b.get(), true);
    case ExprKind::kCast:
      return same(a.as<Cast>()->value, b.as<Cast>()->value);
    case ExprKind::kUnary: {
      const auto *x = a.as<Unary>(), *y = b.as<Unary>();
      return x->op == y->op && same(x->a, y->a);
    }
    case ExprKind::kBinary: {
      const auto *x = a.as<Binary>(), *y = b.as<Binary>();
      return x->op == y->op && same(x->a, y->a) && same(x->b, y->b);
    }
    case ExprKind::kSelect: {
      const auto *x = a.as<Select>(), *y = b.as<Select>();
      return same(x->condition, y->condition) && same(x->on_true, y->on_true) &&
             same(x->on_false, y->on_false);
    }
    case ExprKind::kLoad: {
      const auto *x = a.as<Load>(), *y = b.as<Load>();
      return same(x->buffer, y->buffer) && same(x->indices, y->indices) &&
             same(x->predicate, y->predicate);
    }
    case ExprKind::kCall: {
      const auto *x = a.as<Call>(), *y = b.as<Call>();
      return x->fn == y->fn && same(x->args, y->args);
    }
    case ExprKind::kRamp: {
      const auto *x = a.as<Ramp>(), *y = b.as<Ramp>();
      return same(x->base, y->base) && same(x->stride, y->stride);
    }
    case ExprKind::kBroadcast:
      return same(a.as<Broadcast>()->value, b.as<Broadcast>()->value);
    case ExprKind::kVectorReduce: {
      const auto *x = a.as<VectorReduce>(), *y = b.as<VectorReduce>();
      return x->op == y->op && same(x->value, y->value);
    }
  }
  return false;
}

bool Comparer::same_inside(const void* a, const void* b, const Stmt& in_a, const Stmt& in_b) {
  const auto at = static_cast<std::ptrdiff_t>(pairs_.size());
  bind(a, b);
  if (!same(in_a, in_b)) {
    return false;
  }
  // Free ones met inside stay paired; only the one bound here goes.
  std::rotate(pairs_.begin() + at, pairs_.begin() + at + 1, pairs_.end());
  unbind();
  return true;
}

bool Comparer::same_loop(const For* a, const For* b) {
  return a->loop_kind == b->loop_kind && a->tag == b->tag && same(a->min, b->min) &&
         same(a->extent, b->extent) && same_inside(a->var.get(), b->var.get(), a->body, b->body);
}

bool Comparer::same_allocation(const Allocate* a, const Allocate* b) {
  return same_storage(*a->buffer, *b->buffer) &&
         same_inside(a->buffer.get(), b->buffer.get(), a->body, b->body);
}

bool Comparer::same(const Stmt& a, const Stmt& b) {
  if (a.same_as(b) && (!a.defined() || (!by_order_ && renamed_ == 0))) {
    return true;
  }
  if (!a.defined() || !b.defined() || a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case StmtKind::kFor:
      return same_loop(a.as<For>(), b.as<For>());
    case StmtKind::kStore: {
      const auto *x = a.as<Store>(), *y = b.as<Store>();
      return same(x->buffer, y->buffer) && same(x->indices, y->indices) &&
             same(x->value, y->value) && same(x->predicate, y->predicate);
    }
    case StmtKind::kIf: {
      const auto *x = a.as<If>(), *y = b.as<If>();
      return same(x->condition, y->condition) && same(x->then_case, y->then_case) &&
             same(x->else_case, y->else_case);
    }
    case StmtKind::kBlock:
      return same(a.as<Block>()->stmts, b.as<Block>()->stmts);
    case StmtKind::kAllocate:
      return same_allocation(a.as<Allocate>(), b.as<Allocate>());
    case StmtKind::kBarrier:
      return true;
    case StmtKind::kPrefetch: {
      const auto *x = a.as<Prefetch>(), *y = b.as<Prefetch>();
      return same(x->buffer, y->buffer) && same(x->indices, y->indices);
    }
    case StmtKind::kCombine: {
      const auto *x = a.as<Combine>(), *y = b.as<Combine>();
      return x->op == y->op && x->threads == y->threads && same(x->buffer, y->buffer);
    }
  }
  return false;
}

}  // namespace

bool equal(const Expr& a, const Expr& b, bool free_by_order) {
  return a.same_as(b) || Comparer(free_by_order).same(a, b);
}

bool equal(const Stmt& a, const Stmt& b, bool free_by_order) {
  return a.same_as(b) || Comparer(free_by_order).same(a, b);
}

}  // namespace tenon::ir
