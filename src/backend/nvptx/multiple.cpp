// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/multiple.h"

#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "ir/build.h"

namespace tenon::backend::nvptx {
namespace {

using ir::BinaryOp;

// Results are divisors of it: beyond nothing asks, and products stay small.
constexpr int64_t kMost = 1 << 16;

int64_t of_linear(const ir::Expr& e);

int64_t of_binary(const ir::Binary& n) {
  switch (n.op) {
    case BinaryOp::kMul:
      return std::min(of_linear(n.a) * of_linear(n.b), kMost);
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kFloorMod:
    case BinaryOp::kBitXor:
    case BinaryOp::kBitOr:  // the zeros at the end that both have
      return std::min(of_linear(n.a), of_linear(n.b));
    default:
      return 1;
  }
}

int64_t of_atom(const ir::Expr& e) {
  if (const auto value = ir::const_int(e)) return std::gcd(*value, kMost);
  if (const auto* n = e.as<ir::Binary>()) return of_binary(*n);
  if (const auto* n = e.as<ir::Select>()) {
    return std::min(of_linear(n->on_true), of_linear(n->on_false));
  }
  return 1;
}

int64_t of_linear(const ir::Expr& e) {
  if (e.dtype() != ir::kI64) return 1;
  const arith::Linear l = arith::to_linear(e);
  if (l.terms.size() == 1 && l.constant == 0 && l.terms[0].second == 1) return of_atom(e);
  int64_t common = std::gcd(l.constant, kMost);
  for (const auto& [atom, coefficient] : l.terms) {
    common = std::min(common, std::gcd(coefficient, kMost) * of_atom(atom));
  }
  return common;
}

}  // namespace

int64_t multiple_of(const ir::Expr& e) { return of_linear(e); }

}  // namespace tenon::backend::nvptx
