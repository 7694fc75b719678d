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

// Takes conditions away from selects that read `buffer`; what does not read it stays as it is.
class GuardStripper : public ir::Mutator {
 public:
  GuardStripper(const ir::Buffer& buffer, size_t dim, arith::Interval inside,
                const arith::Ranges& ranges)
      : buffer_(buffer), dim_(dim), inside_(inside), ranges_(ranges) {}

  ir::Expr mutate(const ir::Expr& e) override {
    if ((e.load_mask() & buffer_.mask()) == 0) return e;
    const ir::Expr x = descend(e);
    const auto* sel = x.as<ir::Select>();
    if (sel == nullptr || !ir::is_zero(sel->on_false)) return x;
    const auto* read = sel->on_true.as<ir::Load>();
    if (read == nullptr || !read->buffer.same_as(buffer_)) return x;
    const ir::Expr& index = read->indices[dim_];
    const arith::Interval at = arith::interval_of(index, ranges_);
    if (at.lo < inside_.lo || at.hi > inside_.hi) return x;
    const ir::Expr rest = without_inside(sel->condition, index, buffer_.shape()[dim_]);
    return rest.same_as(sel->condition) ? x : ir::select(rest, sel->on_true, sel->on_false);
  }

 private:
  const ir::Buffer& buffer_;
  const size_t dim_;
  const arith::Interval inside_;  // of the dimension with its padding
  const arith::Ranges& ranges_;
};

}  // namespace

void strip_pad_guards(State& s, const ir::Buffer& buffer, size_t dim, int64_t before,
                      int64_t after) {
  const arith::Interval inside{-before, buffer.shape()[dim] + after - 1};
  for (const StageId id : s.readers_of(buffer)) {
    const te::OpRef op = s.stage(id).op;
    const arith::Ranges ranges = op->ranges();
    const ir::Expr body = GuardStripper(buffer, dim, inside, ranges).mutate(op->body);
    if (body.same_as(op->body)) continue;
    auto changed = std::make_shared<te::ComputeOp>(*op);
    changed->body = body;
    s.edit(id).op = std::move(changed);
  }
}

}  // namespace tenon::schedule
