// SPDX-License-Identifier: Apache-2.0
// Structural equality of expressions. ir/equal.h also matches bound variables and buffers by position;
// this one runs in the inner loop of the simplifier and allocates nothing.
#include <algorithm>
#include <bit>

#include "arith/linear.h"

namespace tenon::arith {
namespace {

using ir::Expr;

bool same_list(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_expr);
}

bool same_optional(const Expr& a, const Expr& b) {
  return a.defined() && b.defined() ? same_expr(a, b) : a.same_as(b);
}

bool same(const ir::IntImm& a, const ir::IntImm& b) { return a.value == b.value; }
bool same(const ir::FloatImm& a, const ir::FloatImm& b) {
  return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
}
bool same(const ir::VarNode& a, const ir::VarNode& b) { return &a == &b; }
bool same(const ir::Cast& a, const ir::Cast& b) { return same_expr(a.value, b.value); }
bool same(const ir::Unary& a, const ir::Unary& b) { return a.op == b.op && same_expr(a.a, b.a); }
bool same(const ir::Binary& a, const ir::Binary& b) {
  return a.op == b.op && same_expr(a.a, b.a) && same_expr(a.b, b.b);
}
bool same(const ir::Select& a, const ir::Select& b) {
  return same_expr(a.condition, b.condition) && same_expr(a.on_true, b.on_true) &&
         same_expr(a.on_false, b.on_false);
}
bool same(const ir::Load& a, const ir::Load& b) {
  return a.buffer.same_as(b.buffer) && same_list(a.indices, b.indices) &&
         same_optional(a.predicate, b.predicate);
}
bool same(const ir::Call& a, const ir::Call& b) {
  return a.fn == b.fn && same_list(a.args, b.args);
}
bool same(const ir::Ramp& a, const ir::Ramp& b) {
  return same_expr(a.base, b.base) && same_expr(a.stride, b.stride);
}
bool same(const ir::Broadcast& a, const ir::Broadcast& b) { return same_expr(a.value, b.value); }
bool same(const ir::VectorReduce& a, const ir::VectorReduce& b) {
  return a.op == b.op && same_expr(a.value, b.value);
}

}  // namespace

bool same_expr(const Expr& a, const Expr& b) {
  if (a.same_as(b)) {
    return true;
  }
  if (a.kind() != b.kind() || a.dtype() != b.dtype()) {
    return false;
  }
  switch (a.kind()) {
#define TENON_EXPR(Name)      \
  case ir::ExprKind::k##Name: \
    return same(*a.as<ir::Name>(), *b.as<ir::Name>());
#define TENON_STMT(Name)
#include "ir/nodes.def"
  }
  return false;
}

bool same_atom(const Expr& a, const Expr& b) {
  if (a.same_as(b)) {
    return true;
  }
  if (a.kind() != b.kind() || a.kind() == ir::ExprKind::kVarNode) {
    return false;
  }
  if (same_expr(a, b)) {
    return true;
  }
  const auto* x = a.as<ir::Binary>();
  const auto* y = b.as<ir::Binary>();
  return x != nullptr && y != nullptr && x->op == ir::BinaryOp::kMul && y->op == x->op &&
         same_atom(x->a, y->b) && same_atom(x->b, y->a);
}

}  // namespace tenon::arith
