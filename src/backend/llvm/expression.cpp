// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/dot.h"
#include "backend/llvm/emitter.h"
#include "backend/llvm/quantize.h"
#include "backend/llvm/types.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using ir::BinaryOp;
using ir::Expr;
using ir::ExprKind;
using llvm::Value;

namespace {

const ir::VectorReduce* as_group_sum(const Expr& e) {
  const auto* n = e.as<ir::VectorReduce>();
  return n != nullptr && n->dtype.is_vector() && n->op == BinaryOp::kAdd ? n : nullptr;
}

}  // namespace

Value* Emitter::expr(const Expr& e) {
  if (const auto* v = e.as<ir::VarNode>()) {
    const auto it = vars_.find(v);
    TENON_CHECK(it != vars_.end()) << "variable " << v->name << " is not bound here";
    return it->second.value;
  }
  const Key key{e.get(), active_};
  const auto it = memo_.find(key);
  if (it != memo_.end()) {
    return it->second.second;
  }
  Value* small = narrow_form(e);
  Value* v = small != nullptr ? b_.CreateSExt(small, carried_type(ctx_, e.dtype())) : fresh_expr(e);
  memo_[key] = {e, v};
  return v;
}

Value* Emitter::fresh_expr(const Expr& e) {
  const ir::DType t = e.dtype();
  switch (e.kind()) {
    case ExprKind::kIntImm:
      return llvm::ConstantInt::get(
          carried_type(ctx_, t), static_cast<uint64_t>(e.as<ir::IntImm>()->value), t.is_signed());
    case ExprKind::kFloatImm:
      return llvm::ConstantFP::get(carried_type(ctx_, t), e.as<ir::FloatImm>()->value);
    case ExprKind::kCast: {
      if (const auto q = cpu_.round ? as_quantized(*e.as<ir::Cast>()) : std::nullopt)
        return emit_quantized(b_, cpu_, *q, expr(q->x));
      const Expr& from = e.as<ir::Cast>()->value;
      return ops_.cast(from.dtype(), t, expr(from));
    }
    case ExprKind::kUnary:
      return ops_.unary(e.as<ir::Unary>()->op, t, expr(e.as<ir::Unary>()->a));
    case ExprKind::kBinary:
      return binary(*e.as<ir::Binary>());
    case ExprKind::kSelect:
      return select(*e.as<ir::Select>());
    case ExprKind::kLoad:
      return load(*e.as<ir::Load>());
    case ExprKind::kCall: {
      const auto* n = e.as<ir::Call>();
      llvm::SmallVector<Value*, 3> args;
      for (const Expr& a : n->args) {
        args.push_back(expr(a));
      }
      return ops_.call(n->fn, n->args.front().dtype(), args);
    }
    case ExprKind::kRamp:
      return ramp(*e.as<ir::Ramp>());
    case ExprKind::kBroadcast:
      return ops_.splat(expr(e.as<ir::Broadcast>()->value), t.lanes);
    case ExprKind::kVectorReduce: {
      const auto* n = e.as<ir::VectorReduce>();
      return t.is_vector() ? reduce_groups(*n, Expr())
                           : ops_.reduce(n->op, n->value.dtype(), expr(n->value));
    }
    case ExprKind::kVarNode:
      break;
  }
  TENON_CHECK(false) << "expression kind " << static_cast<int>(e.kind());
  return nullptr;
}

Value* Emitter::reduce_groups(const ir::VectorReduce& n, const Expr& acc) {
  Value* sum = acc.defined() ? expr(acc) : nullptr;
  Value* outer = active_;
  if (active_ != nullptr && lanes_of(active_) == n.dtype.lanes) {
    active_ = ops_.repeat_each(active_, n.group());
  }
  Value* r = nullptr;
  if (const auto dot = as_dot(n)) {
    Value* x = expr(dot->x);
    Value* y = expr(dot->y);
    if (sum == nullptr) {
      sum = llvm::Constant::getNullValue(carried_type(ctx_, n.dtype));
    }
    r = emit_dot(b_, cpu_, ops_, dot->x.dtype(), x, dot->y.dtype(), y, sum);
  } else {
    r = ops_.reduce_groups(n.op, n.value.dtype(), expr(n.value), n.dtype.lanes);
    r = sum == nullptr ? r : ops_.binary(BinaryOp::kAdd, n.dtype, sum, r, false);
  }
  active_ = outer;
  return r;
}

Value* Emitter::ramp(const ir::Ramp& n) {
  const int lanes = n.dtype.lanes;
  const unsigned bits = n.dtype.bits;
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (int i = 0; i < lanes; ++i) {
    steps.push_back(llvm::ConstantInt::get(b_.getIntNTy(bits), static_cast<uint64_t>(i)));
  }
  Value* offsets =
      b_.CreateMul(ops_.splat(expr(n.stride), lanes), llvm::ConstantVector::get(steps));
  return b_.CreateAdd(ops_.splat(expr(n.base), lanes), offsets);
}

bool Emitter::is_index(const Expr& e) {
  if (e.dtype().scalar() != ir::kI64) {
    return false;
  }
  switch (e.kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kVarNode:
      return true;
    case ExprKind::kBinary:
      return is_index(e.as<ir::Binary>()->a) && is_index(e.as<ir::Binary>()->b);
    default:
      return false;
  }
}

Value* Emitter::binary(const ir::Binary& n) {
  const ir::DType t = n.a.dtype();
  switch (n.op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      return logical(n);
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      if (!t.is_float()) {
        return division(n);
      }
      break;
    case BinaryOp::kAdd:
      if (const auto* sum = as_group_sum(n.b)) {
        return reduce_groups(*sum, n.a);
      }
      if (const auto* sum = as_group_sum(n.a)) {
        return reduce_groups(*sum, n.b);
      }
      [[fallthrough]];
    case BinaryOp::kSub:
      if (t.is_float() && !is_narrow_float(t) && cpu_.fma) {
        if (Value* v = contracted(n)) {
          return v;
        }
      }
      break;
    case BinaryOp::kMul:
      if (Value* v = times_sigmoid(n)) {
        return v;
      }
      break;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
      if (Value* v = compare_runs(n)) {
        return v;
      }
      break;
    default:
      break;
  }
  Value* x = expr(n.a);
  Value* y = expr(n.b);
  return ops_.binary(n.op, t, x, y, is_index(n.a) && is_index(n.b));
}

// x * sigmoid(x), which is x / (1 + e^-x). Not for other factors: a sigmoid that does not change in a loop is best
// computed outside of it.
Value* Emitter::times_sigmoid(const ir::Binary& n) {
  const auto by = [&](const Expr& x, const Expr& factor) -> Value* {
    const auto* call = factor.as<ir::Call>();
    if (call == nullptr || call->fn != ir::Intrinsic::kSigmoid || is_narrow_float(x.dtype()) ||
        !ir::equal(call->args[0], x)) {
      return nullptr;
    }
    Value* v = expr(x);
    return ops_.times_sigmoid(x.dtype(), v, v);
  };
  Value* v = by(n.a, n.b);
  return v != nullptr ? v : by(n.b, n.a);
}

// base + offset(i) < 0 in lane i is offset(i) < -base: a constant vector against one scalar, which
// may be clamped to just outside of what the lanes reach.
Value* Emitter::compare_runs(const ir::Binary& n) {
  const int lanes = n.a.dtype().lanes;
  if (lanes == 1 || n.a.dtype().scalar() != ir::kI64 || cpu_.narrow_indices) {
    return nullptr;
  }
  const auto a = as_pattern(n.a);
  const auto b = as_pattern(n.b);
  if (!a || !b || !is_index(a->base) || !is_index(b->base)) {
    return nullptr;
  }
  llvm::SmallVector<llvm::Constant*, 16> steps;
  int64_t lowest = 0;
  int64_t highest = 0;
  for (size_t i = 0; i < a->offsets.size(); ++i) {
    const int64_t step = a->offsets[i] - b->offsets[i];
    lowest = std::min(lowest, step);
    highest = std::max(highest, step);
    steps.push_back(b_.getInt32(static_cast<uint32_t>(step)));
  }
  if (highest - lowest > (int64_t{1} << 30)) {
    return nullptr;
  }
  const auto i64 = [&](int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); };
  Value* gap = b_.CreateNSWSub(expr(b->base), expr(a->base));
  gap = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, gap, i64(lowest - 1));
  gap = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, gap, i64(highest + 1));
  Value* limit = ops_.splat(b_.CreateTrunc(gap, b_.getInt32Ty()), lanes);
  return ops_.binary(n.op, ir::kI32.with_lanes(lanes), llvm::ConstantVector::get(steps), limit,
                     false);
}

Value* Emitter::contracted(const ir::Binary& n) {
  const auto product = [](const Expr& e) {
    const auto* m = e.as<ir::Binary>();
    return m != nullptr && m->op == BinaryOp::kMul ? m : nullptr;
  };
  const bool minus = n.op == BinaryOp::kSub;
  if (const auto* m = product(n.b)) {
    Value* z = expr(n.a);
    Value* x = expr(m->a);
    return ops_.multiply_add(minus ? b_.CreateFNeg(x) : x, expr(m->b), z);
  }
  if (const auto* m = product(n.a)) {
    Value* x = expr(m->a);
    Value* y = expr(m->b);
    Value* z = expr(n.b);
    return ops_.multiply_add(x, y, minus ? b_.CreateFNeg(z) : z);
  }
  return nullptr;
}

Value* Emitter::division(const ir::Binary& n) {
  const ir::DType t = n.a.dtype();
  Value* x = expr(n.a);
  const auto by = ir::const_int(n.b);
  if (by && *by > 0 && n.op != BinaryOp::kDiv) {
    const arith::Interval range = arith::interval_of(n.a, ranges_);
    return n.op == BinaryOp::kFloorDiv ? ops_.floor_div(t, x, *by, range)
                                       : ops_.floor_mod(t, x, *by, range);
  }
  Value* y = expr(n.b);
  if (active_ != nullptr && !by) {
    y = b_.CreateSelect(active_mask(t.lanes), y, llvm::ConstantInt::get(y->getType(), 1));
  }
  return ops_.binary(n.op, t, x, y, false);
}

Value* Emitter::logical(const ir::Binary& n) {
  Value* x = expr(n.a);
  if (n.op == BinaryOp::kAnd) {
    return b_.CreateAnd(x, expr_where(n.b, x));
  }
  return b_.CreateOr(x, needs_mask(n.b) ? expr_where(n.b, b_.CreateNot(x)) : expr(n.b));
}

Value* Emitter::select(const ir::Select& n) {
  Value* c = expr(n.condition);
  if (const auto* decided = llvm::dyn_cast<llvm::ConstantInt>(c)) {
    return expr(decided->isOne() ? n.on_true : n.on_false);
  }
  Value* x = expr_where(n.on_true, c);
  Value* y = needs_mask(n.on_false) ? expr_where(n.on_false, b_.CreateNot(c)) : expr(n.on_false);
  return b_.CreateSelect(c, x, y);
}

Value* Emitter::expr_where(const Expr& e, Value* mask) {
  if (!needs_mask(e)) {
    return expr(e);
  }
  Value* outer = active_;
  if (outer != nullptr) {
    mask = b_.CreateAnd(mask, active_mask(lanes_of(mask)));
  }
  active_ = mask;
  Value* v = expr(e);
  active_ = outer;
  return v;
}

bool Emitter::needs_mask(const Expr& e) {
  bool found = false;
  ir::visit(e, [&](const Expr& x) {
    if (found) {
      return;
    }
    if (const auto* n = x.as<ir::Load>()) {
      found = !in_bounds(n->buffer, n->indices.front());
    } else if (const auto* d = x.as<ir::Binary>(); d != nullptr && !d->a.dtype().is_float()) {
      const bool divides =
          d->op == BinaryOp::kDiv || d->op == BinaryOp::kFloorDiv || d->op == BinaryOp::kFloorMod;
      found = divides && !ir::const_int(d->b);
    }
  });
  return found;
}

Value* Emitter::active_mask(int lanes) {
  if (active_ == nullptr) {
    return nullptr;
  }
  const int have = lanes_of(active_);
  if (have == lanes) {
    return active_;
  }
  Value* any = have == 1 ? active_ : b_.CreateOrReduce(active_);
  return ops_.splat(any, lanes);
}

}  // namespace tenon::backend::llvm_cpu
