// SPDX-License-Identifier: Apache-2.0
#include "schedule/pad_guards.h"

#include "arith/linear.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {

namespace {

bool is_constant(const arith::Linear& l, int64_t v) { return l.terms.empty() && l.constant == v; }

// True if the condition says exactly 0 <= index or index < extent.
bool keeps_inside(const ir::Expr& condition, const ir::Expr& index, int64_t extent) {
  const auto* b = condition.as<ir::Binary>();
  if (b == nullptr || (b->op != ir::BinaryOp::kLt && b->op != ir::BinaryOp::kLe) ||
      !b->a.dtype().is_int()) {
    return false;
  }
  // a <= b or a < b as slack >= 0.
  arith::Linear slack = arith::to_linear(b->b) - arith::to_linear(b->a);
  if (b->op == ir::BinaryOp::kLt) slack.constant -= 1;
  const arith::Linear at = arith::to_linear(index);
  if (is_constant(slack - at, 0) || is_constant(slack + at, extent - 1)) return true;
  // t / d is inside [0, extent) exactly if t is inside [0, extent * d).
  const auto* quotient = index.as<ir::Binary>();
  if (quotient == nullptr || quotient->op != ir::BinaryOp::kFloorDiv) return false;
  const auto divisor = ir::const_int(quotient->b);
  if (!divisor) return false;
  const arith::Linear t = arith::to_linear(quotient->a);
  return is_constant(slack - t, 0) || is_constant(slack + t, extent * *divisor - 1);
}

ir::Expr without_inside(const ir::Expr& condition, const ir::Expr& index, int64_t extent) {
  if (const auto* b = condition.as<ir::Binary>(); b != nullptr && b->op == ir::BinaryOp::kAnd) {
    return ir::logical_and(without_inside(b->a, index, extent),
                           without_inside(b->b, index, extent));
  }
  return keeps_inside(condition, index, extent) ? ir::make_bool(true) : condition;
}

}  // namespace

void strip_pad_guards(State& s, const ir::Buffer& buffer, size_t dim, int64_t before,
                      int64_t after) {
  for (const StageId id : s.readers_of(buffer)) {
    const te::OpRef op = s.stage(id).op;
    const arith::Ranges ranges = op->ranges();
    const ir::Expr body = ir::rewrite(op->body, [&](const ir::Expr& e) {
      const auto* sel = e.as<ir::Select>();
      if (sel == nullptr || !ir::is_zero(sel->on_false)) return e;
      const auto* read = sel->on_true.as<ir::Load>();
      if (read == nullptr || !read->buffer.same_as(buffer)) return e;
      const int64_t extent = buffer.shape()[dim];
      const arith::Interval at = arith::interval_of(read->indices[dim], ranges);
      if (at.lo < -before || at.hi >= extent + after) return e;
      const ir::Expr rest = without_inside(sel->condition, read->indices[dim], extent);
      return rest.same_as(sel->condition) ? e : ir::select(rest, sel->on_true, sel->on_false);
    });
    if (body.same_as(op->body)) continue;
    auto changed = std::make_shared<te::ComputeOp>(*op);
    changed->body = body;
    s.edit(id).op = std::move(changed);
  }
}

}  // namespace tenon::schedule
