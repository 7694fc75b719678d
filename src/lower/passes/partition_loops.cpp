// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/partition_loops.h"

#include <algorithm>
#include <set>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "lower/conditions.h"
#include "lower/copy.h"

namespace tenon::lower {

namespace {

constexpr int64_t kMaxPieces = 4;
constexpr int64_t kFewStores =
    64;  // over all pieces of a loop that may be cut more often, as by concatenation
constexpr int64_t kMaxStores = 1500;  // after unrolling, over all pieces of one loop

// Stores in a statement once its loops are unrolled.
int64_t weight(const ir::Stmt& s) {
  if (s.as<ir::Store>() != nullptr) return 1;
  if (const auto* f = s.as<ir::For>()) {
    const int64_t n =
        f->loop_kind == ir::ForKind::kUnrolled ? ir::const_int(f->extent).value_or(1) : 1;
    return n * weight(f->body);
  }
  if (const auto* i = s.as<ir::If>()) {
    return weight(i->then_case) + (i->else_case.defined() ? weight(i->else_case) : 0);
  }
  if (const auto* a = s.as<ir::Allocate>()) return weight(a->body);
  int64_t sum = 0;
  if (const auto* b = s.as<ir::Block>()) {
    for (const ir::Stmt& x : b->stmts) sum += weight(x);
  }
  return sum;
}

// Where, along one loop, the conditions inside it change.
class CutFinder {
 public:
  CutFinder(const ir::For& loop, const arith::Ranges& outer)
      : v_(loop.var.node()),
        lo_(*ir::const_int(loop.min)),
        end_(lo_ + *ir::const_int(loop.extent)),
        ranges_(outer) {
    walk(loop.body);
    most_ = std::max(kMaxPieces, kFewStores / std::max<int64_t>(1, weight(loop.body)));
  }

  std::vector<int64_t> cuts() const {
    std::vector<int64_t> all(cuts_.begin(), cuts_.end());
    if (static_cast<int64_t>(all.size()) < most_) return all;
    // Too many: only the range where everything holds is worth its own copy.
    std::vector<int64_t> main;
    if (true_from_ > lo_ && true_from_ < end_) main.push_back(true_from_);
    if (true_until_ > true_from_ && true_until_ < end_) main.push_back(true_until_);
    return main;
  }

 private:
  void walk(const ir::Stmt& s) {
    if (const auto* f = s.as<ir::For>()) {
      ranges_.bind(f->var, range_of(*f, ranges_));
      walk(f->body);
    } else if (const auto* i = s.as<ir::If>()) {
      condition(i->condition);
      walk(i->then_case);
      if (i->else_case.defined()) walk(i->else_case);
    } else if (const auto* b = s.as<ir::Block>()) {
      for (const ir::Stmt& x : b->stmts) walk(x);
    } else if (const auto* a = s.as<ir::Allocate>()) {
      walk(a->body);
    } else if (const auto* st = s.as<ir::Store>()) {
      ir::visit(st->value, [&](const ir::Expr& e) {
        if (const auto* sel = e.as<ir::Select>()) condition(sel->condition);
        if (const auto* load = e.as<ir::Load>()) bounded(load->indices);
      });
    }
  }

  // An index that is held inside a tensor is plain where it lies inside anyway.
  void bounded(const std::vector<ir::Expr>& indices) {
    for (const ir::Expr& index : indices) {
      ir::Expr moving = index;
      std::vector<std::pair<int64_t, int64_t>> ends;  // sign, where: sign * moving + where >= 0
      for (const auto* b = moving.as<ir::Binary>(); b != nullptr; b = moving.as<ir::Binary>()) {
        const auto end = ir::const_int(b->b);
        if (!end || (b->op != ir::BinaryOp::kMin && b->op != ir::BinaryOp::kMax)) break;
        const int64_t sign = b->op == ir::BinaryOp::kMin ? -1 : 1;
        ends.emplace_back(sign, -sign * *end);
        moving = ir::Expr(b->a);
      }
      for (const auto& [sign, where] : ends) {
        arith::Linear slack = arith::to_linear(moving) * sign;
        slack.constant += where;
        linear(slack);
      }
    }
  }

  void condition(const ir::Expr& c) {
    for (const ir::Expr& one : conjuncts(c)) {
      if (const auto* b = one.as<ir::Binary>(); b != nullptr && b->op == ir::BinaryOp::kOr) {
        condition(b->a);
        condition(b->b);
      } else if (const auto slack = slack_of(one)) {
        linear(*slack);
      }
    }
  }

  // slack = k*v + rest >= 0: true for good and false for good from some value of v on.
  void linear(const arith::Linear& slack) {
    const int64_t k = slack.coefficient(v_);
    if (k == 0) return;
    arith::Linear rest = slack;
    std::erase_if(rest.terms,
                  [&](const auto& t) { return t.first.template as<ir::VarNode>() == v_; });
    const arith::Interval r = arith::interval_of(arith::to_expr(rest), ranges_);
    if (!r.bounded()) return;
    if (k > 0) {
      const int64_t always = arith::ceil_div(-r.lo, k);
      true_from_ = std::max(true_from_, always);
      cut(always);
      cut(arith::ceil_div(-r.hi, k));
    } else {
      const int64_t always = arith::floor_div(r.lo, -k) + 1;
      true_until_ = std::min(true_until_, always);
      cut(always);
      cut(arith::floor_div(r.hi, -k) + 1);
    }
  }

  void cut(int64_t at) {
    if (at > lo_ && at < end_) cuts_.insert(at);
  }

  const ir::VarNode* v_;
  int64_t lo_, end_;
  int64_t most_ = kMaxPieces;
  arith::Ranges ranges_;
  std::set<int64_t> cuts_;
  int64_t true_from_ = std::numeric_limits<int64_t>::min();
  int64_t true_until_ = std::numeric_limits<int64_t>::max();
};

class Partitioner : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& s) override {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) return descend(s);
    const auto min = ir::const_int(loop->min);
    const auto extent = ir::const_int(loop->extent);
    const bool divisible =
        loop->loop_kind == ir::ForKind::kSerial || loop->loop_kind == ir::ForKind::kParallel;
    if (divisible && min && extent && *extent > 1) {
      const auto cuts = CutFinder(*loop, ranges_).cuts();
      const int64_t pieces = static_cast<int64_t>(cuts.size()) + 1;
      if (pieces > 1 && pieces * weight(loop->body) <= kMaxStores) {
        return loop->loop_kind == ir::ForKind::kParallel ? branch(*loop, *min, *extent, cuts)
                                                         : pieces_of(*loop, *min, *extent, cuts);
      }
    }
    return enter(s, *loop);
  }

 private:
  // Goes on inside a loop that stays whole.
  ir::Stmt enter(const ir::Stmt& s, const ir::For& loop) {
    ranges_.bind(loop.var, range_of(loop, ranges_));
    const ir::Stmt body = mutate(loop.body);
    ranges_.unbind(loop.var.node());
    if (body.same_as(loop.body)) return s;
    return ir::make_for(loop.var, loop.min, loop.extent, loop.loop_kind, body, loop.tag);
  }

  ir::Stmt settle(const ir::Stmt& piece) {
    const ir::Stmt simple = arith::simplify(piece, ranges_);
    const auto* loop = simple.as<ir::For>();
    // A piece of one iteration is gone, and what stands in its place may be a loop that is still to be cut.
    const bool same = loop != nullptr && loop->var.same_as(piece.as<ir::For>()->var);
    return same ? enter(simple, *loop) : mutate(simple);
  }

  ir::Stmt pieces_of(const ir::For& loop, int64_t min, int64_t extent, std::vector<int64_t> cuts) {
    cuts.push_back(min + extent);
    std::vector<ir::Stmt> out;
    int64_t from = min;
    for (const int64_t to : cuts) {
      const ir::Stmt piece = ir::make_for(loop.var, ir::Expr(from), ir::Expr(to - from),
                                          loop.loop_kind, loop.body, loop.tag);
      out.push_back(settle(from == min ? piece : fresh_copy(piece)));
      from = to;
    }
    return ir::block(std::move(out));
  }

  // One parallel loop, a chain of branches inside.
  ir::Stmt branch(const ir::For& loop, int64_t min, int64_t extent,
                  const std::vector<int64_t>& cuts) {
    ir::Stmt chain;
    int64_t end = min + extent;
    for (size_t i = cuts.size() + 1; i-- > 0;) {
      const int64_t from = i == 0 ? min : cuts[i - 1];
      ranges_.bind(loop.var, {from, end - 1});
      const ir::Stmt own = i == 0 ? loop.body : fresh_copy(loop.body);
      const ir::Stmt piece = mutate(arith::simplify(own, ranges_));
      chain = chain.defined() ? ir::make_if(ir::lt(loop.var, end), piece, chain) : piece;
      end = from;
    }
    ranges_.unbind(loop.var.node());
    return ir::make_for(loop.var, loop.min, loop.extent, loop.loop_kind, chain, loop.tag);
  }

  arith::Ranges ranges_;
};

}  // namespace

ir::Stmt partition_loops(const ir::Stmt& s, const PassContext& ctx) {
  // Threads in lockstep gain nothing from loops of their own.
  if (ctx.target != nullptr && !ctx.target->is_cpu()) return s;
  Partitioner p;
  return p.mutate(s);
}

}  // namespace tenon::lower
