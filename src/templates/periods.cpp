// SPDX-License-Identifier: Apache-2.0
#include "templates/periods.h"

#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "ir/visit.h"

namespace tenon::templates {

namespace {

// After how many steps of `step` a quotient by `by` repeats; 1 too where no step passes from one
// quotient to the next but at its end.
int64_t period_of(int64_t by, int64_t step) { return by % step == 0 ? 1 : by / std::gcd(by, step); }

}  // namespace

int64_t vectors_of_period(const te::ComputeOp& op, int64_t v) {
  constexpr int64_t kMost = 8;  // as many copies of the code
  const ir::VarNode* column = op.axes.back().var.node();
  const int64_t all = arith::ceil_div(op.axes.back().extent, v);
  int64_t vectors = 1;
  ir::visit(op.body, [&](const ir::Expr& e) {
    const auto* b = e.as<ir::Binary>();
    if (b == nullptr || (b->op != ir::BinaryOp::kFloorDiv && b->op != ir::BinaryOp::kFloorMod))
      return;
    const auto by = ir::const_int(b->b);
    const int64_t step = arith::to_linear(b->a).coefficient(column) * v;
    if (by && *by > 1 && step > 0 && vectors <= all)
      vectors = std::lcm(vectors, period_of(*by, step));
  });
  vectors = std::min(vectors, all);
  return vectors <= kMost ? vectors : 1;
}

}  // namespace tenon::templates
