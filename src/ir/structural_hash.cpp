// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <utility>
#include <vector>

#include "ir/equal.h"
#include "support/hash.h"

namespace tenon::ir {
namespace {

// Variables and buffers count by the order in which they appear, bound ones from their binder on.
class TreeHasher {
 public:
  void add(const Expr& e);
  void add(const Stmt& s);
  uint64_t value() const { return hash_.value(); }

 private:
  template <class T>
  void add(const std::vector<T>& list) {
    hash_.add(static_cast<uint64_t>(list.size()));
    for (const T& x : list) {
      add(x);
    }
  }
  template <class E>
  requires std::is_enum_v<E>
  void tag(E e) { hash_.add(static_cast<uint64_t>(e)); }
  void node(const Expr& e);
  void var(const void* v) {
    bool fresh = false;
    hash_.add(number(v, fresh));
  }
  void add(const Buffer& b);
  void storage(const BufferNode& b);
  uint64_t number(const void* handle, bool& fresh);
  uint64_t bind(const void* handle);
  void unbind(const void* handle);

  Hasher hash_;
  std::vector<std::pair<const void*, uint64_t>> numbers_;
  uint64_t next_ = 0;
};

uint64_t TreeHasher::number(const void* handle, bool& fresh) {
  for (size_t i = numbers_.size(); i-- > 0;) {
    if (numbers_[i].first == handle) {
      return numbers_[i].second;
    }
  }
  fresh = true;
  return bind(handle);
}

uint64_t TreeHasher::bind(const void* handle) {
  numbers_.emplace_back(handle, next_);
  return next_++;
}

void TreeHasher::unbind(const void* handle) {
  for (size_t i = numbers_.size(); i-- > 0;) {
    if (numbers_[i].first == handle) {
      numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
}

void TreeHasher::storage(const BufferNode& b) {
  tag(b.dtype.code);
  hash_.add(static_cast<uint64_t>(b.dtype.bits));
  tag(b.scope);
  hash_.add(static_cast<uint64_t>(b.shape.size()));
  for (size_t d = 0; d < b.shape.size(); ++d) {
    hash_.add(b.shape[d]).add(b.strides[d]);
  }
}

void TreeHasher::add(const Buffer& b) {
  bool fresh = false;
  hash_.add(number(b.get(), fresh));
  if (fresh) {
    storage(*b);
  }
}

void TreeHasher::add(const Expr& e) {
  if (!e.defined()) {
    hash_.add(~uint64_t{0});
    return;
  }
  const DType t = e.dtype();
  hash_.add(static_cast<uint64_t>(e.kind()) | static_cast<uint64_t>(t.code) << 8 |
            static_cast<uint64_t>(t.bits) << 16 | static_cast<uint64_t>(t.lanes) << 32);
  node(e);
}

void TreeHasher::node(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kIntImm:
      hash_.add(e.as<IntImm>()->value);
      break;
    case ExprKind::kFloatImm:
      hash_.add(e.as<FloatImm>()->value);
      break;
    case ExprKind::kVarNode:
      var(e.get());
      break;
    case ExprKind::kCast:
      add(e.as<Cast>()->value);
      break;
    case ExprKind::kUnary: {
      tag(e.as<Unary>()->op);
      add(e.as<Unary>()->a);
      break;
    }
    case ExprKind::kBinary: {
      const auto* n = e.as<Binary>();
      tag(n->op);
      add(n->a);
      add(n->b);
      break;
    }
    case ExprKind::kSelect: {
      const auto* n = e.as<Select>();
      add(n->condition);
      add(n->on_true);
      add(n->on_false);
      break;
    }
    case ExprKind::kLoad: {
      const auto* n = e.as<Load>();
      add(n->buffer);
      add(n->indices);
      add(n->predicate);
      break;
    }
    case ExprKind::kCall: {
      tag(e.as<Call>()->fn);
      add(e.as<Call>()->args);
      break;
    }
    case ExprKind::kRamp: {
      add(e.as<Ramp>()->base);
      add(e.as<Ramp>()->stride);
      break;
    }
    case ExprKind::kBroadcast:
      add(e.as<Broadcast>()->value);
      break;
    case ExprKind::kVectorReduce: {
      tag(e.as<VectorReduce>()->op);
      add(e.as<VectorReduce>()->value);
      break;
    }
  }
}

void TreeHasher::add(const Stmt& s) {
  if (!s.defined()) {
    hash_.add(~uint64_t{0});
    return;
  }
  tag(s.kind());
  switch (s.kind()) {
    case StmtKind::kFor: {
      const auto* n = s.as<For>();
      tag(n->loop_kind);
      tag(n->tag);
      add(n->min);
      add(n->extent);
      bind(n->var.get());
      add(n->body);
      unbind(n->var.get());
      break;
    }
    case StmtKind::kStore: {
      const auto* n = s.as<Store>();
      add(n->buffer);
      add(n->indices);
      add(n->value);
      add(n->predicate);
      break;
    }
    case StmtKind::kIf: {
      const auto* n = s.as<If>();
      add(n->condition);
      add(n->then_case);
      add(n->else_case);
      break;
    }
    case StmtKind::kBlock:
      add(s.as<Block>()->stmts);
      break;
    case StmtKind::kAllocate: {
      const auto* n = s.as<Allocate>();
      storage(*n->buffer);
      bind(n->buffer.get());
      add(n->body);
      unbind(n->buffer.get());
      break;
    }
    case StmtKind::kBarrier:
      break;
    case StmtKind::kPrefetch: {
      add(s.as<Prefetch>()->buffer);
      add(s.as<Prefetch>()->indices);
      break;
    }
    case StmtKind::kCombine: {
      const auto* n = s.as<Combine>();
      tag(n->op);
      hash_.add(static_cast<uint64_t>(n->threads));
      add(n->buffer);
      break;
    }
  }
}

}  // namespace

uint64_t structural_hash(const Expr& e) {
  TreeHasher h;
  h.add(e);
  return h.value();
}

uint64_t structural_hash(const Stmt& s) {
  TreeHasher h;
  h.add(s);
  return h.value();
}

}  // namespace tenon::ir
