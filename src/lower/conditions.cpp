// SPDX-License-Identifier: Apache-2.0
#include "lower/conditions.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::lower {

namespace {

void collect(const ir::Expr& c, std::vector<ir::Expr>& out) {
  if (const auto* b = c.as<ir::Binary>(); b != nullptr && b->op == ir::BinaryOp::kAnd) {
    collect(b->a, out);
    collect(b->b, out);
  } else if (!ir::is_const_true(c)) {
    out.push_back(c);
  }
}

}  // namespace

std::vector<ir::Expr> conjuncts(const ir::Expr& condition) {
  std::vector<ir::Expr> out;
  collect(condition, out);
  return out;
}

Written written_in(const ir::Stmt& s) {
  Written written;
  ir::visit(s, [&](const ir::Stmt& x) {
    if (const auto* store = x.as<ir::Store>()) written.insert(store->buffer.get());
    if (const auto* combine = x.as<ir::Combine>()) written.insert(combine->buffer.get());
  });
  return written;
}

bool is_steady(const ir::Expr& e, const Written& written) {
  bool steady = true;
  ir::visit_loads(e, [&](const ir::Load& load) {
    const bool fixed = std::all_of(load.indices.begin(), load.indices.end(),
                                   [](const ir::Expr& i) { return ir::const_int(i).has_value(); });
    steady = steady && fixed && !load.predicate.defined() && !written.contains(load.buffer.get());
  });
  return steady;
}

arith::Interval range_of(const ir::For& loop, const arith::Ranges& ranges) {
  const arith::Interval first = arith::interval_of(loop.min, ranges);
  const arith::Interval last = arith::interval_of(loop.min + loop.extent - ir::Expr(1), ranges);
  return {first.lo, last.hi};
}

std::optional<arith::Linear> slack_of(const ir::Expr& comparison) {
  const auto* b = comparison.as<ir::Binary>();
  if (b == nullptr || b->a.dtype() != ir::kI64) return std::nullopt;
  if (b->op != ir::BinaryOp::kLt && b->op != ir::BinaryOp::kLe) return std::nullopt;
  arith::Linear slack = arith::to_linear(b->b) - arith::to_linear(b->a);
  if (b->op == ir::BinaryOp::kLt) slack.constant -= 1;
  return slack;
}

}  // namespace tenon::lower
