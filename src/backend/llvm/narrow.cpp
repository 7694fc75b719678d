// SPDX-License-Identifier: Apache-2.0
// Index expressions in 32 bits. A GPU multiplies 64-bit integers in several instructions, and most of its indices are
// known to be small.
//
//   i*56 + j, with i and j from loops    =>   i32 arithmetic, widened once where it meets an address
#include <limits>

#include "arith/interval.h"
#include "backend/llvm/emitter.h"
#include "ir/build.h"

namespace tenon::backend::llvm_cpu {

using ir::BinaryOp;
using ir::Expr;
using llvm::Value;

namespace {

bool fits(arith::Interval r) {
  return r.lo >= std::numeric_limits<int32_t>::min() && r.hi <= std::numeric_limits<int32_t>::max();
}

}  // namespace

bool Emitter::fits_narrow(const Expr& e) { return fits(arith::interval_of(e, ranges_)); }

Value* Emitter::narrow(const Expr& e) {
  if (!cpu_.narrow_indices || e.dtype().scalar() != ir::kI64 || !fits_narrow(e)) {
    return nullptr;
  }
  if (const auto* v = e.as<ir::VarNode>(); v != nullptr && vars_[v].narrow != nullptr) {
    return vars_[v].narrow;
  }
  if (const auto value = ir::const_int(e); value && !e.dtype().is_vector()) {
    return b_.getInt32(static_cast<uint32_t>(*value));
  }
  if (Value* v = narrow_form(e)) {
    return v;
  }
  Value* wide = expr(e);
  return b_.CreateTrunc(wide, wide->getType()->getWithNewBitWidth(32));
}

// Anything else is computed in its own type and cut off by narrow().
Value* Emitter::narrow_form(const Expr& e) {
  const bool has_form = e.kind() == ir::ExprKind::kBinary || e.kind() == ir::ExprKind::kRamp ||
                        e.kind() == ir::ExprKind::kBroadcast;
  if (!cpu_.narrow_indices || !has_form || e.dtype().scalar() != ir::kI64 || !fits_narrow(e)) {
    return nullptr;
  }
  const Key key{e.get(), active_, true};
  if (const auto it = memo_.find(key); it != memo_.end()) {
    return it->second.second;
  }
  Value* v = nullptr;
  if (const auto* n = e.as<ir::Binary>()) {
    v = narrow_binary(*n);
  } else if (const auto* r = e.as<ir::Ramp>()) {
    v = narrow_ramp(*r);
  } else if (Value* x = narrow(e.as<ir::Broadcast>()->value)) {
    v = ops_.splat(x, e.dtype().lanes);
  }
  memo_[key] = {e, v};
  return v;
}

Value* Emitter::narrow_binary(const ir::Binary& n) {
  const ir::DType t = ir::kI32.with_lanes(n.dtype.lanes);
  const auto by = ir::const_int(n.b);
  switch (n.op) {
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      Value* x = by && *by > 0 && fits_narrow(n.b) ? narrow(n.a) : nullptr;
      if (x == nullptr) {
        return nullptr;
      }
      const arith::Interval range = arith::interval_of(n.a, ranges_);
      return n.op == BinaryOp::kFloorDiv ? ops_.floor_div(t, x, *by, range)
                                         : ops_.floor_mod(t, x, *by, range);
    }
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor: {
      Value* x = narrow(n.a);
      Value* y = x != nullptr ? narrow(n.b) : nullptr;
      return y != nullptr ? ops_.binary(n.op, t, x, y, true) : nullptr;
    }
    default:
      return nullptr;
  }
}

Value* Emitter::narrow_ramp(const ir::Ramp& n) {
  Value* base = narrow(n.base);
  Value* stride = base != nullptr ? narrow(n.stride) : nullptr;
  if (stride == nullptr) {
    return nullptr;
  }
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (int i = 0; i < n.dtype.lanes; ++i) {
    steps.push_back(b_.getInt32(static_cast<uint32_t>(i)));
  }
  Value* offsets =
      b_.CreateMul(ops_.splat(stride, n.dtype.lanes), llvm::ConstantVector::get(steps));
  return b_.CreateAdd(ops_.splat(base, n.dtype.lanes), offsets);
}

Value* Emitter::narrow_sum(const arith::Linear& l,
                           const std::vector<std::pair<int, size_t>>& order) {
  if (!cpu_.narrow_indices || l.terms.empty()) {
    return nullptr;
  }
  arith::Interval range{0, 0};
  for (const auto& [depth, i] : order) {
    const arith::Interval atom = arith::interval_of(l.terms[i].first, ranges_);
    const arith::Interval term = atom * l.terms[i].second;
    range = range + term;
    if (!fits(atom) || !fits(term) || !fits(range)) {
      return nullptr;
    }
  }
  Value* sum = nullptr;
  for (const auto& [depth, i] : order) {
    Value* term = narrow(l.terms[i].first);
    Value* by = b_.getInt32(static_cast<uint32_t>(l.terms[i].second));
    term = l.terms[i].second == 1 ? term : b_.CreateNSWMul(term, by);
    sum = sum == nullptr ? term : b_.CreateNSWAdd(sum, term);
  }
  return sum;
}

}  // namespace tenon::backend::llvm_cpu
