// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/flatten.h"

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "lower/conditions.h"

namespace tenon::lower {

namespace {

class Flattener : public ir::Mutator {
 public:
  ir::Expr mutate(const ir::Expr& e) override {
    const ir::Expr x = descend(e);
    const auto* l = x.as<ir::Load>();
    return l == nullptr || l->indices.size() == 1
               ? x
               : ir::load(l->buffer, offset(l->buffer, l->indices), l->predicate);
  }
  ir::Stmt mutate(const ir::Stmt& s) override {
    if (const auto* loop = s.as<ir::For>()) {
      ranges_.bind(loop->var, range_of(*loop, ranges_));
    }
    const ir::Stmt x = descend(s);
    if (const auto* st = x.as<ir::Store>(); st != nullptr && st->indices.size() != 1) {
      return ir::store(st->buffer, offset(st->buffer, st->indices), st->value, st->predicate);
    }
    if (const auto* p = x.as<ir::Prefetch>(); p != nullptr && p->indices.size() != 1) {
      return ir::prefetch(p->buffer, offset(p->buffer, p->indices));
    }
    return x;
  }

 private:
  std::vector<ir::Expr> offset(const ir::Buffer& b, const std::vector<ir::Expr>& indices) const {
    ir::Expr sum(0);
    for (size_t d = 0; d < indices.size(); ++d) sum = sum + indices[d] * ir::Expr(b->strides[d]);
    return {arith::simplify(sum, ranges_)};
  }

  arith::Ranges ranges_;
};

}  // namespace

ir::Stmt flatten(const ir::Stmt& s, const PassContext&) {
  Flattener f;
  return f.mutate(s);
}

}  // namespace tenon::lower
