// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/guard_reductions.h"

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/visit.h"

namespace tenon::lower {

namespace {

// Takes selects with a zero side out of a product; what they ask is added to `condition`.
ir::Expr strip(const ir::Expr& e, ir::Expr& condition) {
  if (const auto* s = e.as<ir::Select>(); s != nullptr && ir::is_zero(s->on_false)) {
    condition = ir::logical_and(condition, s->condition);
    return strip(s->on_true, condition);
  }
  if (const auto* b = e.as<ir::Binary>(); b != nullptr && b->op == ir::BinaryOp::kMul) {
    const ir::Expr x = strip(b->a, condition);
    const ir::Expr y = strip(b->b, condition);
    return x * y;
  }
  if (const auto* c = e.as<ir::Cast>()) return ir::cast(c->dtype, strip(c->value, condition));
  return e;
}

bool same_place(const ir::Load& l, const ir::Store& s) {
  if (!l.buffer.same_as(s.buffer) || l.predicate.defined()) return false;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    if (!ir::equal(l.indices[d], s.indices[d])) return false;
  }
  return true;
}

ir::Stmt guard(const ir::Stmt& s) {
  const auto* store = s.as<ir::Store>();
  if (store == nullptr) return s;
  const auto* sum = store->value.as<ir::Binary>();
  if (sum == nullptr || sum->op != ir::BinaryOp::kAdd) return s;
  const auto* acc = sum->a.as<ir::Load>();
  if (acc == nullptr || !same_place(*acc, *store)) return s;
  ir::Expr condition = ir::make_bool(true);
  const ir::Expr rest = strip(sum->b, condition);
  if (rest.same_as(sum->b)) return s;
  return ir::make_if(condition,
                     ir::store(store->buffer, store->indices, sum->a + rest, store->predicate));
}

}  // namespace

ir::Stmt guard_reductions(const ir::Stmt& s, const PassContext&) {
  return ir::rewrite(
      s, [](const ir::Expr& e) { return e; }, [](const ir::Stmt& x) { return guard(x); });
}

}  // namespace tenon::lower
