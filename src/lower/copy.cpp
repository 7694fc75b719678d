// SPDX-License-Identifier: Apache-2.0
#include "lower/copy.h"

#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::lower {

namespace {

class Copier : public ir::Mutator {
 public:
  ir::Expr mutate(const ir::Expr& e) override {
    if (const auto* v = e.as<ir::VarNode>()) {
      const auto it = vars_.find(v);
      return it == vars_.end() ? e : it->second;
    }
    const ir::Expr x = descend(e);
    if (const auto* l = x.as<ir::Load>()) {
      const ir::Buffer b = renamed(l->buffer);
      return b.same_as(l->buffer) ? x : ir::load(b, l->indices, l->predicate);
    }
    return x;
  }

  ir::Stmt mutate(const ir::Stmt& s) override {
    if (const auto* loop = s.as<ir::For>()) {
      const ir::Var v(loop->var.name());
      const ir::Expr min = mutate(loop->min);
      const ir::Expr extent = mutate(loop->extent);
      vars_[loop->var.node()] = v;
      return ir::make_for(v, min, extent, loop->loop_kind, mutate(loop->body), loop->tag);
    }
    if (const auto* a = s.as<ir::Allocate>()) {
      const ir::Buffer b =
          ir::Buffer::make_strided(a->buffer.name(), a->buffer.dtype(), a->buffer.shape(),
                                   a->buffer->strides, a->buffer->scope);
      buffers_[a->buffer.get()] = b;
      return ir::allocate(b, mutate(a->body));
    }
    const ir::Stmt x = descend(s);
    if (const auto* st = x.as<ir::Store>()) {
      const ir::Buffer b = renamed(st->buffer);
      return b.same_as(st->buffer) ? x : ir::store(b, st->indices, st->value, st->predicate);
    }
    if (const auto* p = x.as<ir::Prefetch>()) {
      const ir::Buffer b = renamed(p->buffer);
      return b.same_as(p->buffer) ? x : ir::prefetch(b, p->indices);
    }
    if (const auto* c = x.as<ir::Combine>()) {
      const ir::Buffer b = renamed(c->buffer);
      return b.same_as(c->buffer) ? x : ir::combine(c->op, b, c->threads);
    }
    return x;
  }

 private:
  ir::Buffer renamed(const ir::Buffer& b) const {
    const auto it = buffers_.find(b.get());
    return it == buffers_.end() ? b : it->second;
  }

  ir::VarMap vars_;
  std::unordered_map<const ir::BufferNode*, ir::Buffer> buffers_;
};

}  // namespace

ir::Stmt fresh_copy(const ir::Stmt& s) {
  Copier c;
  return c.mutate(s);
}

}  // namespace tenon::lower
