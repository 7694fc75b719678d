// SPDX-License-Identifier: Apache-2.0
#include "ir/verify_types.h"

#include <cmath>

#include "ir/print.h"

namespace tenon::ir {
namespace {

bool is_integral(DType t) { return t.is_int() || t.is_bool(); }

void verify_binary(const Binary* n, const Expr& e) {
  const DType t = n->a.dtype();
  TENON_CHECK(t == n->b.dtype()) << "operand types differ in " << to_string(e);
  const DType result = is_comparison(n->op) ? kBool.with_lanes(t.lanes) : t;
  TENON_CHECK(e.dtype() == result) << "wrong result type in " << to_string(e);
  bool fits = true;
  switch (n->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
      fits = !t.is_bool();
      break;
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      fits = t.is_int();
      break;
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      fits = t.is_float();
      break;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      break;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      fits = t.is_bool();
      break;
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
      fits = is_integral(t);
      break;
  }
  TENON_CHECK(fits) << to_string(n->op) << " does not take " << to_string(t) << " in "
                    << to_string(e);
}

void verify_unary(const Unary* n, const Expr& e) {
  const DType t = n->a.dtype();
  const bool fits = n->op == UnaryOp::kNot   ? t.is_bool()
                    : n->op == UnaryOp::kNeg ? !t.is_bool()
                                             : t.is_int();
  TENON_CHECK(fits) << "operand of type " << to_string(t) << " in " << to_string(e);
  TENON_CHECK(e.dtype() == t) << "wrong result type in " << to_string(e);
}

void verify_select(const Select* n, const Expr& e) {
  TENON_CHECK(n->on_true.dtype() == n->on_false.dtype() && e.dtype() == n->on_true.dtype())
      << "operand types differ in " << to_string(e);
  TENON_CHECK(n->condition.dtype() == kBool.with_lanes(e.dtype().lanes))
      << "condition of type " << to_string(n->condition.dtype()) << " in " << to_string(e);
}

void verify_call(const Call* n, const Expr& e) {
  TENON_CHECK(n->args.size() == static_cast<size_t>(arity(n->fn)))
      << "wrong number of arguments in " << to_string(e);
  const DType t = n->args[0].dtype();
  for (const Expr& a : n->args) {
    TENON_CHECK(a.dtype() == t) << "operand types differ in " << to_string(e);
  }
  TENON_CHECK(t.is_float() || (n->fn == Intrinsic::kAbs && t.is_int()))
      << to_string(n->fn) << " does not take " << to_string(t) << " in " << to_string(e);
  const bool test = n->fn == Intrinsic::kIsNan || n->fn == Intrinsic::kIsInf;
  TENON_CHECK(e.dtype() == (test ? kBool.with_lanes(t.lanes) : t))
      << "wrong result type in " << to_string(e);
}

void verify_vector(const Expr& e) {
  TENON_CHECK(e.dtype().is_vector()) << "fewer than two lanes in " << to_string(e);
  if (const auto* n = e.as<Ramp>()) {
    const DType t = e.dtype().scalar();
    TENON_CHECK(t.is_int() && n->base.dtype() == t && n->stride.dtype() == t)
        << "operand types differ in " << to_string(e);
  } else {
    TENON_CHECK(e.as<Broadcast>()->value.dtype() == e.dtype().scalar())
        << "operand types differ in " << to_string(e);
  }
}

void verify_reduce(const VectorReduce* n, const Expr& e) {
  const DType t = n->value.dtype();
  const int lanes = e.dtype().lanes;
  TENON_CHECK(e.dtype().scalar() == t.scalar() && lanes < t.lanes && t.lanes % lanes == 0)
      << "wrong lanes in " << to_string(e);
  bool fits = false;
  switch (n->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kMul:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      fits = !t.is_bool();
      break;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      fits = t.is_bool();
      break;
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      fits = t.is_float();
      break;
    default:
      break;
  }
  TENON_CHECK(fits) << "cannot reduce " << to_string(t) << " by " << to_string(n->op);
}

void verify_constant(const Expr& e) {
  TENON_CHECK(!e.dtype().is_vector()) << "a constant with lanes: " << to_string(e);
  if (const auto* i = e.as<IntImm>()) {
    TENON_CHECK(is_integral(e.dtype())) << "an integer constant of type " << to_string(e.dtype());
    TENON_CHECK(wrap_int(e.dtype(), i->value) == i->value)
        << "constant " << i->value << " does not fit " << to_string(e.dtype());
    return;
  }
  const double v = e.as<FloatImm>()->value;
  TENON_CHECK(e.dtype().is_float()) << "a float constant of type " << to_string(e.dtype());
  TENON_CHECK(std::isnan(v) || round_to(e.dtype(), v) == v)
      << "constant " << v << " is not rounded to " << to_string(e.dtype());
}

}  // namespace

void verify_types(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
      verify_constant(e);
      break;
    case ExprKind::kVarNode: {
      TENON_CHECK(e.dtype() == kI64) << "variable " << to_string(e) << " is not i64";
      break;
    }
    case ExprKind::kCast: {
      TENON_CHECK(e.as<Cast>()->value.dtype().lanes == e.dtype().lanes)
          << "lanes differ in " << to_string(e);
      break;
    }
    case ExprKind::kUnary:
      verify_unary(e.as<Unary>(), e);
      break;
    case ExprKind::kBinary:
      verify_binary(e.as<Binary>(), e);
      break;
    case ExprKind::kSelect:
      verify_select(e.as<Select>(), e);
      break;
    case ExprKind::kLoad: {
      const auto* n = e.as<Load>();
      const int lanes = verify_indices(n->buffer, n->indices);
      TENON_CHECK(e.dtype() == n->buffer.dtype().with_lanes(lanes))
          << "wrong result type in " << to_string(e);
      verify_predicate(n->predicate, lanes, n->buffer);
      break;
    }
    case ExprKind::kCall:
      verify_call(e.as<Call>(), e);
      break;
    case ExprKind::kRamp:
    case ExprKind::kBroadcast:
      verify_vector(e);
      break;
    case ExprKind::kVectorReduce:
      verify_reduce(e.as<VectorReduce>(), e);
      break;
  }
}

int verify_indices(const Buffer& b, const std::vector<Expr>& indices) {
  TENON_CHECK(indices.size() == b.rank() || indices.size() == 1)
      << b.name() << " has rank " << b.rank() << " and is given " << indices.size() << " indices";
  int lanes = 1;
  for (const Expr& i : indices) {
    TENON_CHECK(i.defined() && i.dtype().scalar() == kI64)
        << "an index of " << b.name() << " is not i64";
    if (i.dtype().is_vector()) {
      TENON_CHECK(lanes == 1 || lanes == i.dtype().lanes)
          << "indices of " << b.name() << " differ in lanes";
      lanes = i.dtype().lanes;
    }
  }
  return lanes;
}

void verify_predicate(const Expr& predicate, int lanes, const Buffer& b) {
  TENON_CHECK(!predicate.defined() || predicate.dtype() == kBool.with_lanes(lanes))
      << "predicate of an access to " << b.name() << " has type " << to_string(predicate.dtype());
}

}  // namespace tenon::ir
