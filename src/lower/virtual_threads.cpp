// SPDX-License-Identifier: Apache-2.0
#include "lower/virtual_threads.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/check.h"

namespace tenon::lower {
namespace {

using BufferSet = std::unordered_set<const ir::BufferNode*>;

bool is_own(const ir::Buffer& b) {
  return b->scope == ir::Scope::kLocal || b->scope == ir::Scope::kRegister;
}

bool has_barrier(const ir::Stmt& s) {
  bool found = false;
  ir::visit(s, [&](const ir::Stmt& x) { found = found || x.as<ir::Barrier>() != nullptr; });
  return found;
}

// The buffers of a thread that hold something else for each virtual thread.
class Finder {
 public:
  Finder(const ir::VarNode* v, BufferSet& differ) : v_(v), differ_(differ) {}

  // True if something was found.
  bool run(const ir::Stmt& s, bool inside = false) {
    bool found = false;
    if (const auto* st = s.as<ir::Store>()) {
      const bool by =
          inside || depends(st->value) || depends(st->indices) || depends(st->predicate);
      return by && is_own(st->buffer) && differ_.insert(st->buffer.get()).second;
    }
    if (const auto* f = s.as<ir::For>()) {
      return run(f->body, inside || depends(f->min) || depends(f->extent));
    }
    if (const auto* a = s.as<ir::Allocate>()) return run(a->body, inside);
    if (const auto* i = s.as<ir::If>()) {
      const bool by = inside || depends(i->condition);
      found = run(i->then_case, by);
      return (i->else_case.defined() && run(i->else_case, by)) || found;
    }
    if (const auto* b = s.as<ir::Block>()) {
      for (const ir::Stmt& x : b->stmts) found = run(x, inside) || found;
    }
    return found;
  }

  bool depends(const ir::Expr& e) const {
    if (!e.defined()) return false;
    bool found = false;
    ir::visit(e, [&](const ir::Expr& x) {
      const auto* l = x.as<ir::Load>();
      found = found || x.get() == v_ || (l != nullptr && differ_.contains(l->buffer.get()));
    });
    return found;
  }
  bool depends(const std::vector<ir::Expr>& all) const {
    for (const ir::Expr& e : all) {
      if (depends(e)) return true;
    }
    return false;
  }

 private:
  const ir::VarNode* v_;
  BufferSet& differ_;
};

ir::Buffer with_dimension(const ir::Buffer& b, int64_t extent) {
  std::vector<int64_t> shape = b.shape(), strides = b->strides;
  const int64_t whole = shape.empty() ? 1 : shape[0] * strides[0];
  shape.insert(shape.begin(), extent);
  strides.insert(strides.begin(), whole);
  return ir::Buffer::make_strided(b.name(), b.dtype(), shape, strides, b->scope);
}

// One loop of virtual threads.
class Expander {
 public:
  explicit Expander(const ir::For& loop)
      : loop_(loop), extent_(*ir::const_int(loop.extent)), finder_(loop.var.node(), differ_) {
    while (finder_.run(loop.body)) {
    }
  }

  ir::Stmt run() { return expand(loop_.body); }

 private:
  ir::Stmt expand(const ir::Stmt& s) {
    if (const auto* b = s.as<ir::Block>()) {
      std::vector<ir::Stmt> out;
      for (const ir::Stmt& x : b->stmts) out.push_back(expand(x));
      return ir::block(std::move(out));
    }
    if (const auto* a = s.as<ir::Allocate>()) return allocate(*a);
    if (const auto* f = s.as<ir::For>(); f != nullptr && stays_outside(*f)) {
      return ir::make_for(f->var, f->min, f->extent, f->loop_kind, expand(f->body), f->tag);
    }
    if (const auto* i = s.as<ir::If>(); i != nullptr && !finder_.depends(i->condition)) {
      return ir::make_if(i->condition, expand(i->then_case),
                         i->else_case.defined() ? expand(i->else_case) : ir::Stmt());
    }
    return differs(s) ? for_each(s) : s;
  }

  // Lanes stay together, and so does a loop whose length differs.
  bool stays_outside(const ir::For& f) const {
    return f.loop_kind != ir::ForKind::kVectorized && !finder_.depends(f.min) &&
           !finder_.depends(f.extent);
  }

  ir::Stmt allocate(const ir::Allocate& a) {
    if (!differ_.contains(a.buffer.get())) return ir::allocate(a.buffer, expand(a.body));
    const ir::Buffer wide = with_dimension(a.buffer, extent_);
    wide_[a.buffer.get()] = wide;
    return ir::allocate(wide, expand(a.body));
  }

  bool differs(const ir::Stmt& s) const {
    bool found = false;
    ir::visit(s, [&](const ir::Expr& e) { found = found || finder_.depends(e); });
    ir::visit(s, [&](const ir::Stmt& x) {
      const auto* st = x.as<ir::Store>();
      found = found || (st != nullptr && wide_.contains(st->buffer.get()));
    });
    return found;
  }

  ir::Stmt for_each(const ir::Stmt& s) const {
    TENON_CHECK(!has_barrier(s)) << "virtual threads " << loop_.var.name() << " part at a barrier";
    const ir::Var v(loop_.var.name());
    const auto at = [&](const std::vector<ir::Expr>& indices) {
      std::vector<ir::Expr> out{v};
      out.insert(out.end(), indices.begin(), indices.end());
      return out;
    };
    const ir::Stmt own = ir::rewrite(
        ir::substitute(s, {{loop_.var.node(), v}}),
        [&](const ir::Expr& e) {
          const auto* l = e.as<ir::Load>();
          const auto it = l == nullptr ? wide_.end() : wide_.find(l->buffer.get());
          return it == wide_.end() ? e : ir::load(it->second, at(l->indices), l->predicate);
        },
        [&](const ir::Stmt& x) {
          const auto* st = x.as<ir::Store>();
          const auto it = st == nullptr ? wide_.end() : wide_.find(st->buffer.get());
          return it == wide_.end()
                     ? x
                     : ir::store(it->second, at(st->indices), st->value, st->predicate);
        });
    return ir::make_for(v, loop_.min, loop_.extent, ir::ForKind::kUnrolled, own);
  }

  const ir::For& loop_;
  int64_t extent_;
  BufferSet differ_;
  Finder finder_;
  std::unordered_map<const ir::BufferNode*, ir::Buffer> wide_;
};

}  // namespace

ir::Stmt expand_virtual_threads(const ir::Stmt& s) {
  return ir::rewrite(
      s, [](const ir::Expr& e) { return e; },
      [](const ir::Stmt& x) {
        const auto* f = x.as<ir::For>();
        const bool is = f != nullptr && f->loop_kind == ir::ForKind::kThread &&
                        f->tag == ir::ThreadTag::kVThread;
        return is ? Expander(*f).run() : x;
      });
}

}  // namespace tenon::lower
