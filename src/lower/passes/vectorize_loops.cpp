// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/vectorize_loops.h"

#include <optional>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/visit.h"

namespace tenon::lower {

namespace {

bool is_vector(const ir::Expr& e) { return e.defined() && e.dtype().is_vector(); }

struct Combined {
  ir::BinaryOp op;
  ir::Expr rest;
};

// acc op rest out of `value`. Simplification may have moved acc about in a chain of one operation on integers:
// (acc + x) + 3 is acc + (x + 3).
std::optional<Combined> take_out(const ir::Expr& value, const ir::Expr& acc) {
  const auto* b = value.as<ir::Binary>();
  if (b == nullptr) return std::nullopt;
  const bool minus = b->op == ir::BinaryOp::kSub;
  const ir::BinaryOp op = minus ? ir::BinaryOp::kAdd : b->op;
  if (ir::equal(b->a, acc)) return Combined{op, minus ? -b->b : b->b};
  if (!minus && ir::equal(b->b, acc)) return Combined{op, b->a};
  if (const auto in = take_out(b->a, acc); in && in->op == op) {
    return Combined{op, ir::make_binary(b->op, in->rest, b->b)};
  }
  if (const auto in = take_out(b->b, acc); !minus && in && in->op == op) {
    return Combined{op, ir::make_binary(op, b->a, in->rest)};
  }
  return std::nullopt;
}

// Rewrites the body of one loop with its variable replaced by a ramp. `mask` is what the guards around the
// current statement ask of each lane; undefined: nothing.
class Widener {
 public:
  Widener(const ir::For& loop, int lanes)
      : lanes_(lanes),
        map_{{loop.var.node(), ir::ramp(loop.min, ir::Expr(1), lanes)}},
        first_{{loop.var.node(), loop.min}} {}

  ir::Stmt widen(const ir::Stmt& s, const ir::Expr& mask) const {
    switch (s.kind()) {
      case ir::StmtKind::kStore:
        return widen_store(*s.as<ir::Store>(), mask);
      case ir::StmtKind::kIf:
        return widen_if(*s.as<ir::If>(), mask);
      case ir::StmtKind::kBlock: {
        std::vector<ir::Stmt> all;
        for (const ir::Stmt& x : s.as<ir::Block>()->stmts) all.push_back(widen(x, mask));
        return ir::block(std::move(all));
      }
      case ir::StmtKind::kFor: {
        const auto* f = s.as<ir::For>();
        return ir::make_for(f->var, f->min, f->extent, f->loop_kind, widen(f->body, mask), f->tag);
      }
      case ir::StmtKind::kPrefetch:
        return ir::substitute(s, first_);
      case ir::StmtKind::kAllocate:
      case ir::StmtKind::kBarrier:
        break;
    }
    throw InternalError("a vectorised loop contains an allocation or a barrier");
  }

 private:
  ir::Expr vector(const ir::Expr& e) const { return ir::substitute(e, map_); }
  ir::Expr full(const ir::Expr& e) const { return is_vector(e) ? e : ir::broadcast(e, lanes_); }

  ir::Stmt widen_if(const ir::If& s, const ir::Expr& mask) const {
    const ir::Expr c = vector(s.condition);
    if (!is_vector(c)) {
      return ir::make_if(c, widen(s.then_case, mask),
                         s.else_case.defined() ? widen(s.else_case, mask) : ir::Stmt());
    }
    const auto with = [&](const ir::Expr& x) {
      return mask.defined() ? ir::logical_and(mask, x) : x;
    };
    const ir::Stmt then_case = widen(s.then_case, with(c));
    if (!s.else_case.defined()) return then_case;
    return ir::block({then_case, widen(s.else_case, with(ir::logical_not(c)))});
  }

  // Lanes that do not count must not touch memory.
  ir::Expr masked(const ir::Expr& value, const ir::Expr& mask) const {
    if (!mask.defined()) return value;
    return ir::rewrite(value, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || !is_vector(l->indices[0])) return e;
      const ir::Expr p = l->predicate.defined() ? ir::logical_and(full(l->predicate), mask) : mask;
      return ir::load(l->buffer, l->indices, p);
    });
  }

  ir::Stmt widen_store(const ir::Store& s, const ir::Expr& mask) const {
    const ir::Expr index = vector(s.indices[0]);
    if (is_vector(index)) {
      const ir::Expr value = masked(vector(s.value), mask);
      ir::Expr p = mask;
      if (s.predicate.defined()) {
        const ir::Expr own = full(vector(s.predicate));
        p = p.defined() ? ir::logical_and(p, own) : own;
      }
      return ir::store(s.buffer, {index}, full(value), p);
    }
    return reduce_lanes(s, index, mask);
  }

  // C[i] = C[i] op x: x of all lanes is combined first, also where it is the same in each.
  ir::Stmt reduce_lanes(const ir::Store& s, const ir::Expr& index, const ir::Expr& mask) const {
    const ir::Expr acc = ir::load(s.buffer, {index});
    const auto sum = take_out(s.value, acc);
    if (!sum) {  // C[i] = 0 after C[i]*0: the same however often
      const ir::Expr value = vector(s.value);
      TENON_CHECK(!is_vector(value))
          << "lanes write one element of " << s.buffer.name() << " without combining";
      return if_any(mask, ir::store(s.buffer, {index}, value, s.predicate));
    }
    ir::Expr x = full(masked(vector(sum->rest), mask));
    bool reads_one = false;  // one element for all lanes, which only exists if one of them counts
    ir::visit(x, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      reads_one = reads_one || (l != nullptr && !is_vector(l->indices[0]));
    });
    if (mask.defined())
      x = ir::select(mask, x, ir::broadcast(ir::identity_of(sum->op, x.dtype().scalar()), lanes_));
    const ir::Stmt store =
        ir::store(s.buffer, {index}, ir::make_binary(sum->op, acc, ir::vector_reduce(sum->op, x)),
                  s.predicate);
    return reads_one ? if_any(mask, store) : store;
  }

  static ir::Stmt if_any(const ir::Expr& mask, const ir::Stmt& s) {
    return mask.defined() ? ir::make_if(ir::vector_reduce(ir::BinaryOp::kOr, mask), s) : s;
  }

  int lanes_;
  ir::VarMap map_;
  ir::VarMap first_;  // lane 0: what a prefetch needs
};

ir::Stmt vectorize(const ir::Stmt& s) {
  const auto* loop = s.as<ir::For>();
  if (loop == nullptr || loop->loop_kind != ir::ForKind::kVectorized) return s;
  const auto extent = ir::const_int(loop->extent);
  TENON_CHECK(extent && *extent >= 1 && *extent <= 1024) << "vectorised loop " << loop->var.name();
  if (*extent == 1) return ir::substitute(loop->body, {{loop->var.node(), loop->min}});
  return Widener(*loop, static_cast<int>(*extent)).widen(loop->body, ir::Expr());
}

}  // namespace

ir::Stmt vectorize_loops(const ir::Stmt& s, const PassContext&) {
  return ir::rewrite(
      s, [](const ir::Expr& e) { return e; }, [](const ir::Stmt& x) { return vectorize(x); });
}

}  // namespace tenon::lower
