// SPDX-License-Identifier: Apache-2.0
#include "ir/interp_math.h"

#include <cmath>

namespace tenon::ir::interp {
namespace {

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));  // never overflows
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// One rounding in the arithmetic type, which is f32 for the 16-bit types. Adding in double would round
// twice.
double fused(DType t, double a, double b, double c) {
  if (t.bits == 64) {
    return std::fma(a, b, c);
  }
  return static_cast<double>(
      std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
}

double unary(Intrinsic fn, double x) {
  switch (fn) {
    case Intrinsic::kExp:
      return std::exp(x);
    case Intrinsic::kLog:
      return std::log(x);
    case Intrinsic::kTanh:
      return std::tanh(x);
    case Intrinsic::kErf:
      return std::erf(x);
    case Intrinsic::kSigmoid:
      return sigmoid(x);
    case Intrinsic::kSqrt:
      return std::sqrt(x);
    case Intrinsic::kRsqrt:
      return 1 / std::sqrt(x);
    case Intrinsic::kAbs:
      return std::fabs(x);
    case Intrinsic::kFloor:
      return std::floor(x);
    case Intrinsic::kCeil:
      return std::ceil(x);
    case Intrinsic::kRound:
      return std::nearbyint(x);
    case Intrinsic::kTrunc:
      return std::trunc(x);
    case Intrinsic::kSin:
      return std::sin(x);
    case Intrinsic::kCos:
      return std::cos(x);
    case Intrinsic::kTan:
      return std::tan(x);
    case Intrinsic::kAsin:
      return std::asin(x);
    case Intrinsic::kAcos:
      return std::acos(x);
    case Intrinsic::kAtan:
      return std::atan(x);
    case Intrinsic::kSinh:
      return std::sinh(x);
    case Intrinsic::kCosh:
      return std::cosh(x);
    case Intrinsic::kAsinh:
      return std::asinh(x);
    case Intrinsic::kAcosh:
      return std::acosh(x);
    case Intrinsic::kAtanh:
      return std::atanh(x);
    case Intrinsic::kIsNan:
      return std::isnan(x) ? 1 : 0;
    case Intrinsic::kIsInf:
      return std::isinf(x) ? 1 : 0;
    case Intrinsic::kPow:
    case Intrinsic::kFma:
      break;
  }
  TENON_CHECK(false) << to_string(fn) << " takes more than one argument";
  return 0;
}

}  // namespace

double apply_float(BinaryOp op, DType t, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return round_to(t, a + b);
    case BinaryOp::kSub:
      return round_to(t, a - b);
    case BinaryOp::kMul:
      return round_to(t, a * b);
    case BinaryOp::kDiv:
      return round_to(t, a / b);
    case BinaryOp::kMin:
      return b < a ? b : a;
    case BinaryOp::kMax:
      return a < b ? b : a;
    case BinaryOp::kMinimum:
      return b < a || std::isnan(b) ? b : a;
    case BinaryOp::kMaximum:
      return a < b || std::isnan(b) ? b : a;
    default:
      TENON_CHECK(false) << to_string(op) << " of floats";
      return 0;
  }
}

bool compare_float(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kLt:
      return a < b;
    case BinaryOp::kLe:
      return a <= b;
    default:
      TENON_CHECK(false) << to_string(op) << " is no comparison";
      return false;
  }
}

double apply_intrinsic(Intrinsic fn, DType t, const double* args) {
  switch (fn) {
    case Intrinsic::kPow:
      return round_to(t, std::pow(args[0], args[1]));
    case Intrinsic::kFma:
      return round_to(t, fused(t, args[0], args[1], args[2]));
    default:
      return round_to(t, unary(fn, args[0]));
  }
}

}  // namespace tenon::ir::interp
