// SPDX-License-Identifier: Apache-2.0
#include "te/limited.h"

#include "ir/build.h"

namespace tenon::te {

ir::Expr without_limit(const ir::Expr& e) {
  const auto* s = e.as<ir::Select>();
  if (s == nullptr || !ir::is_zero(s->on_false)) {
    return e;
  }
  const auto* less = s->condition.as<ir::Binary>();
  const bool limits = less != nullptr && less->op == ir::BinaryOp::kLt &&
                      less->a.as<ir::VarNode>() != nullptr && less->b.as<ir::Load>() != nullptr;
  return limits ? s->on_true : e;
}

std::vector<Access> factors(const ComputeOp& op) {
  const auto* product = op.body.as<ir::Binary>();
  if (product == nullptr || product->op != ir::BinaryOp::kMul ||
      without_limit(product->a).same_as(product->a)) {
    return accesses(op);
  }
  ComputeOp whole = op;
  whole.body = without_limit(product->a) * product->b;
  return accesses(whole);
}

}  // namespace tenon::te
