// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/vectorize_loops.h"

#include <optional>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/visit.h"
#include "lower/conditions.h"

namespace tenon::lower {

namespace {

bool is_vector(const ir::Expr& e) { return e.defined() && e.dtype().is_vector(); }

int lanes_of(const ir::For& loop) {
  const auto extent = ir::const_int(loop.extent);
  TENON_CHECK(extent && *extent >= 1 && *extent <= 1024) << "vectorised loop " << loop.var.name();
  return static_cast<int>(*extent);
}

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

bool uses(const ir::Expr& e, const ir::Var& v) { return v.defined() && ir::uses_var(e, v.node()); }

ir::Expr both(const ir::Expr& a, const ir::Expr& b) {
  return a.defined() ? ir::logical_and(a, b) : b;
}

// Rewrites the body of one loop with its variable replaced by a ramp, or of two: then lane l is iteration l / group
// of the outer and l % group of the inner one. `guard` is what the conditions around the current statement ask of
// each lane, over the variables of the loops; undefined: nothing.
class Widener {
 public:
  Widener(const ir::For& loop, int lanes)
      : lanes_(lanes),
        outer_(loop.var),
        per_result_{{loop.var.node(), ir::ramp(loop.min, ir::Expr(1), lanes)}},
        per_lane_(per_result_),
        first_{{loop.var.node(), loop.min}} {}

  ir::Stmt widen(const ir::Stmt& s, const ir::Expr& guard) const {
    switch (s.kind()) {
      case ir::StmtKind::kStore:
        return widen_store(*s.as<ir::Store>(), guard);
      case ir::StmtKind::kIf:
        return widen_if(*s.as<ir::If>(), guard);
      case ir::StmtKind::kBlock: {
        std::vector<ir::Stmt> all;
        for (const ir::Stmt& x : s.as<ir::Block>()->stmts) all.push_back(widen(x, guard));
        return ir::block(std::move(all));
      }
      case ir::StmtKind::kFor: {
        const auto* f = s.as<ir::For>();
        if (f->loop_kind == ir::ForKind::kVectorized) return widen_inner(*f, guard);
        return ir::make_for(f->var, f->min, f->extent, f->loop_kind, widen(f->body, guard), f->tag);
      }
      case ir::StmtKind::kPrefetch:
        return ir::substitute(s, first_);
      case ir::StmtKind::kAllocate:
      case ir::StmtKind::kBarrier:
      case ir::StmtKind::kCombine:
        break;
    }
    throw InternalError("a vectorised loop contains an allocation or a barrier");
  }

 private:
  int all_lanes() const { return lanes_ * group_; }
  ir::Expr vector(const ir::Expr& e) const { return ir::substitute(e, per_lane_); }
  ir::Expr full(const ir::Expr& e) const {
    return is_vector(e) ? e : ir::broadcast(e, all_lanes());
  }

  ir::Stmt widen_inner(const ir::For& loop, const ir::Expr& guard) const {
    TENON_CHECK(group_ == 1) << "three vectorised loops, " << loop.var.name() << " inside";
    const int group = lanes_of(loop);
    if (group == 1) {
      return widen(ir::substitute(loop.body, {{loop.var.node(), loop.min}}), guard);
    }
    Widener both_loops = *this;
    both_loops.group_ = group;
    both_loops.inner_ = loop.var;
    const ir::Expr lane = ir::ramp(0, 1, lanes_ * group);
    both_loops.per_lane_ = {{outer_.node(), first_.at(outer_.node()) + ir::floor_div(lane, group)},
                            {loop.var.node(), loop.min + ir::floor_mod(lane, group)}};
    both_loops.first_[loop.var.node()] = loop.min;
    return both_loops.widen(loop.body, guard);
  }

  ir::Stmt widen_if(const ir::If& s, const ir::Expr& guard) const {
    if (!uses(s.condition, outer_) && !uses(s.condition, inner_)) {
      return ir::make_if(s.condition, widen(s.then_case, guard),
                         s.else_case.defined() ? widen(s.else_case, guard) : ir::Stmt());
    }
    const ir::Stmt then_case = widen(s.then_case, both(guard, s.condition));
    if (!s.else_case.defined()) return then_case;
    return ir::block({then_case, widen(s.else_case, both(guard, ir::logical_not(s.condition)))});
  }

  // What of `guard` asks something of single elements of a group, and what of whole groups.
  struct Split {
    ir::Expr elements, groups;
  };
  Split split(const ir::Expr& guard) const {
    Split out;
    if (!guard.defined()) return out;
    for (const ir::Expr& c : conjuncts(guard)) {
      ir::Expr& part = uses(c, inner_) ? out.elements : out.groups;
      part = both(part, c);
    }
    return out;
  }

  // Lanes that do not count must not touch memory. A value that all groups share is read if one of them counts.
  ir::Expr masked(const ir::Expr& value, const ir::Expr& guard) const {
    if (!guard.defined()) return value;
    const Split parts = split(guard);
    return ir::rewrite(value, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr) return e;
      const bool by_group = uses(l->indices[0], outer_);
      if (!by_group && !uses(l->indices[0], inner_)) return e;
      const ir::Expr asked = by_group ? guard : parts.elements;
      if (!asked.defined()) return e;
      return ir::load(l->buffer, l->indices,
                      l->predicate.defined() ? ir::logical_and(l->predicate, asked) : asked);
    });
  }

  ir::Stmt widen_store(const ir::Store& s, const ir::Expr& guard) const {
    const ir::Expr index = ir::substitute(s.indices[0], per_result_);
    TENON_CHECK(!uses(index, inner_)) << "a tensorised loop indexes " << s.buffer.name();
    if (!is_vector(index)) return reduce_lanes(s, index, guard);
    if (group_ > 1) return reduce_groups(s, index, guard);
    const ir::Expr asked = s.predicate.defined() ? both(guard, s.predicate) : guard;
    const ir::Expr p = asked.defined() ? full(vector(asked)) : asked;
    return ir::store(s.buffer, {index}, full(vector(masked(s.value, guard))), p);
  }

  // C[j] = C[j] op x over an inner loop: x of each group is combined first.
  ir::Stmt reduce_groups(const ir::Store& s, const ir::Expr& index, const ir::Expr& guard) const {
    const Split parts = split(s.predicate.defined() ? both(guard, s.predicate) : guard);
    const auto sum = take_out(s.value, ir::load(s.buffer, s.indices));
    const auto result = [&](const ir::Expr& e) { return ir::substitute(e, per_result_); };
    const ir::Expr p = parts.groups.defined() ? result(parts.groups) : parts.groups;
    if (!sum) {  // C[j] = C[j] + 0: the same however often
      TENON_CHECK(!uses(s.value, inner_))
          << "a tensorised loop writes " << s.buffer.name() << " without combining";
      TENON_CHECK(ir::equal(s.value, ir::load(s.buffer, s.indices)) || !parts.elements.defined())
          << "a condition in a tensorised loop that only sets " << s.buffer.name();
      const ir::Expr value = result(masked(s.value, parts.groups));
      return ir::store(s.buffer, {index}, is_vector(value) ? value : ir::broadcast(value, lanes_),
                       p);
    }
    ir::Expr x = arith::simplify(full(vector(masked(sum->rest, guard))), arith::Ranges());
    if (parts.elements.defined()) {
      const ir::Expr none = ir::identity_of(sum->op, x.dtype().scalar());
      x = ir::select(vector(parts.elements), x, ir::broadcast(none, all_lanes()));
    }
    const ir::Expr acc = result(masked(ir::load(s.buffer, s.indices), parts.groups));
    return ir::store(s.buffer, {index},
                     ir::make_binary(sum->op, acc, ir::vector_reduce(sum->op, x, lanes_)), p);
  }

  // C[i] = C[i] op x: x of all lanes is combined first, also where it is the same in each.
  ir::Stmt reduce_lanes(const ir::Store& s, const ir::Expr& index, const ir::Expr& guard) const {
    const ir::Expr acc = ir::load(s.buffer, {index});
    const auto sum = take_out(s.value, acc);
    const ir::Expr mask = guard.defined() ? full(vector(guard)) : guard;
    if (!sum) {  // C[i] = 0 after C[i]*0: the same however often
      const ir::Expr value = vector(s.value);
      TENON_CHECK(!is_vector(value))
          << "lanes write one element of " << s.buffer.name() << " without combining";
      return if_any(mask, ir::store(s.buffer, {index}, value, s.predicate));
    }
    ir::Expr x = full(vector(masked(sum->rest, guard)));
    bool reads_one = false;  // one element for all lanes, which only exists if one of them counts
    ir::visit(x, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      reads_one = reads_one || (l != nullptr && !is_vector(l->indices[0]));
    });
    if (mask.defined())
      x = ir::select(mask, x,
                     ir::broadcast(ir::identity_of(sum->op, x.dtype().scalar()), all_lanes()));
    const ir::Expr total = ir::vector_reduce(sum->op, ir::vector_reduce(sum->op, x, lanes_));
    const ir::Stmt store =
        ir::store(s.buffer, {index}, ir::make_binary(sum->op, acc, total), s.predicate);
    return reads_one ? if_any(mask, store) : store;
  }

  static ir::Stmt if_any(const ir::Expr& mask, const ir::Stmt& s) {
    return mask.defined() ? ir::make_if(ir::vector_reduce(ir::BinaryOp::kOr, mask), s) : s;
  }

  int lanes_;  // iterations of the outer loop
  int group_ = 1;
  ir::Var outer_, inner_;
  ir::VarMap per_result_;  // lanes_ lanes
  ir::VarMap per_lane_;    // lanes_ * group_ lanes
  ir::VarMap first_;       // lane 0: what a prefetch needs
};

// Outermost first: two loops inside each other become one vector.
class Vectorizer : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& s) override {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || loop->loop_kind != ir::ForKind::kVectorized) return descend(s);
    const int lanes = lanes_of(*loop);
    if (lanes == 1) return mutate(ir::substitute(loop->body, {{loop->var.node(), loop->min}}));
    return Widener(*loop, lanes).widen(loop->body, ir::Expr());
  }
};

}  // namespace

ir::Stmt vectorize_loops(const ir::Stmt& s, const PassContext&) { return Vectorizer().mutate(s); }

}  // namespace tenon::lower
