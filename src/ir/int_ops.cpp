// SPDX-License-Identifier: Apache-2.0
#include "ir/int_ops.h"

#include <cmath>

namespace tenon::ir {
namespace {

struct QuotRem {
  int64_t quot;
  int64_t rem;
};

QuotRem divide(bool is_unsigned, int64_t a, int64_t b) {
  if (is_unsigned) {
    const auto ua = static_cast<uint64_t>(a);
    const auto ub = static_cast<uint64_t>(b);
    return {static_cast<int64_t>(ua / ub), static_cast<int64_t>(ua % ub)};
  }
  if (b == -1) {  // the lowest value divided by -1 wraps
    return {static_cast<int64_t>(0 - static_cast<uint64_t>(a)), 0};
  }
  return {a / b, a % b};
}

std::optional<int64_t> divide_int(BinaryOp op, DType t, int64_t a, int64_t b) {
  if (b == 0) {
    return std::nullopt;
  }
  QuotRem r = divide(t.code != TypeCode::kInt, a, b);
  if (op == BinaryOp::kDiv) {
    return wrap_int(t, r.quot);
  }
  if (t.code == TypeCode::kInt && r.rem != 0 && (r.rem < 0) != (b < 0)) {
    r = {r.quot - 1, r.rem + b};
  }
  return wrap_int(t, op == BinaryOp::kFloorDiv ? r.quot : r.rem);
}

std::optional<int64_t> shift_int(BinaryOp op, DType t, int64_t a, int64_t b) {
  if (b < 0 || b >= t.bits) {
    return std::nullopt;
  }
  if (op == BinaryOp::kShl) {
    return wrap_int(t, static_cast<int64_t>(static_cast<uint64_t>(a) << b));
  }
  return t.code == TypeCode::kInt ? a >> b : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
}

}  // namespace

std::optional<int64_t> apply_int(BinaryOp op, DType t, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  const bool less = t.code == TypeCode::kInt ? a < b : ua < ub;
  switch (op) {
    case BinaryOp::kAdd:
      return wrap_int(t, static_cast<int64_t>(ua + ub));
    case BinaryOp::kSub:
      return wrap_int(t, static_cast<int64_t>(ua - ub));
    case BinaryOp::kMul:
      return wrap_int(t, static_cast<int64_t>(ua * ub));
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      return divide_int(op, t, a, b);
    case BinaryOp::kMin:
      return less ? a : b;
    case BinaryOp::kMax:
      return less ? b : a;
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kLt:
      return less;
    case BinaryOp::kLe:
      return less || a == b;
    case BinaryOp::kAnd:
    case BinaryOp::kBitAnd:
      return a & b;
    case BinaryOp::kOr:
    case BinaryOp::kBitOr:
      return a | b;
    case BinaryOp::kBitXor:
      return a ^ b;
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return shift_int(op, t, a, b);
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      break;  // of floats only
  }
  return std::nullopt;
}

int64_t float_to_int(DType t, double v) {
  if (t.is_bool()) {
    return v != 0;  // NaN is not 0
  }
  if (std::isnan(v)) {
    return 0;
  }
  const double limit = std::ldexp(1.0, t.code == TypeCode::kInt ? t.bits - 1 : t.bits);
  if (v >= limit) {
    return highest_int(t);
  }
  if (t.code == TypeCode::kInt) {
    return v < -limit ? lowest_int(t) : static_cast<int64_t>(v);
  }
  return v <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(v));
}

double int_to_float(DType to, DType from, int64_t v) {
  const bool negative = from.code == TypeCode::kInt && v < 0;
  const auto bits = static_cast<uint64_t>(v);
  if (to.bits == 64) {
    return negative ? static_cast<double>(v) : static_cast<double>(bits);
  }
  return round_to(to,
                  static_cast<double>(negative ? static_cast<float>(v) : static_cast<float>(bits)));
}

}  // namespace tenon::ir
