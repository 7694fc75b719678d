// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic, comparison, logic, Cast and Where.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;
using ir::Intrinsic;
using Unary = Expr (*)(const Expr&);
using Binary = Expr (*)(const Expr&, const Expr&);

// ---- one operand -----------------------------------------------------------------------------

template <Unary fn>
std::vector<ValueId> unary(Convert& c) {
  return {c.b().elementwise(label_of(c), {c.input(0)}, [](Args v) { return fn(v[0]); })};
}

template <Intrinsic fn>
std::vector<ValueId> function(Convert& c) {
  require_float(c.dtype(0));
  return {c.b().elementwise(label_of(c), {c.input(0)}, [](Args v) {
    return in_wide(v[0], [](const Expr& x) { return ir::call(fn, {x}); });
  })};
}

Expr negative(const Expr& x) { return -x; }

Expr absolute(const Expr& x) { return x.dtype().is_signed() ? ir::call(Intrinsic::kAbs, {x}) : x; }

// The last case is zero, or NaN which stays NaN.
Expr sign(const Expr& x) {
  const Expr zero = ir::zero_of(x.dtype());
  const Expr positive = ir::lt(zero, x);
  if (!x.dtype().is_signed()) {
    return ir::select(positive, number(x, 1), zero);
  }
  return ir::select(positive, number(x, 1), ir::select(ir::lt(x, zero), number(x, -1), x));
}

Expr reciprocal(const Expr& x) { return number(x, 1) / x; }

std::vector<ValueId> convert_reciprocal(Convert& c) {
  require_float(c.dtype(0));
  return unary<reciprocal>(c);
}

Expr bitwise_not(const Expr& x) {
  return x.dtype().is_bool() ? ir::logical_not(x) : ir::bit_not(x);
}

template <Unary fn>
std::vector<ValueId> on_bool(Convert& c) {
  if (!c.dtype(0).is_bool()) {
    refuse("an operand is {}, not bool", ir::to_string(c.dtype(0)));
  }
  return unary<fn>(c);
}

template <Unary fn>
std::vector<ValueId> on_number(Convert& c) {
  require_number(c.dtype(0));
  return unary<fn>(c);
}

Expr logical_not(const Expr& x) { return ir::logical_not(x); }

std::vector<ValueId> convert_isnan(Convert& c) {
  require_float(c.dtype(0));
  return {c.b().elementwise("isnan", {c.input(0)},
                            [](Args v) { return ir::call(Intrinsic::kIsNan, {v[0]}); })};
}

std::vector<ValueId> convert_isinf(Convert& c) {
  require_float(c.dtype(0));
  const bool negatives = c.int_or("detect_negative", 1) != 0;
  const bool positives = c.int_or("detect_positive", 1) != 0;
  return {c.b().elementwise("isinf", {c.input(0)}, [&](Args v) {
    const Expr zero = ir::zero_of(v[0].dtype());
    const Expr infinite = ir::call(Intrinsic::kIsInf, {v[0]});
    if (negatives && positives) {
      return infinite;
    }
    if (!negatives && !positives) {
      return ir::logical_and(infinite, ir::make_bool(false));
    }
    return ir::logical_and(infinite, negatives ? ir::lt(v[0], zero) : ir::lt(zero, v[0]));
  })};
}

// ---- two operands ----------------------------------------------------------------------------

// Before opset 7 the second operand was broadcast by attributes: its dimensions begin at `axis`.
ValueId second_operand(Convert& c) {
  const ValueId b = c.input(1);
  if (c.opset() >= 7 || c.int_or("broadcast", 0) == 0 || !c.has("axis")) {
    return b;
  }
  const int64_t axis = Convert::axis(c.int_or("axis", 0), std::max<int64_t>(c.rank(0), 1));
  Shape shape = c.b().shape(b);
  const int64_t behind = c.rank(0) - axis - static_cast<int64_t>(shape.size());
  if (behind < 0) {
    refuse("an operand of rank {} does not fit at axis {}", shape.size(), axis);
  }
  shape.resize(shape.size() + static_cast<size_t>(behind), 1);
  return c.b().reshape(b, std::move(shape));
}

template <Binary fn>
std::vector<ValueId> binary(Convert& c) {
  const std::vector<ValueId> operands{c.input(0), second_operand(c)};
  require_same_type(c, operands);
  return {c.b().elementwise(label_of(c), operands, [](Args v) { return fn(v[0], v[1]); })};
}

template <Binary fn>
std::vector<ValueId> arithmetic(Convert& c) {
  if (c.dtype(0).is_bool()) {
    refuse("an operand is bool");
  }
  return binary<fn>(c);
}

template <Binary fn>
std::vector<ValueId> logical(Convert& c) {
  if (!c.dtype(0).is_bool()) {
    refuse("an operand is {}, not bool", ir::to_string(c.dtype(0)));
  }
  return binary<fn>(c);
}

template <Binary fn>
std::vector<ValueId> bitwise(Convert& c) {
  if (c.dtype(0).is_float()) {
    refuse("an operand is {}, not an integer", ir::to_string(c.dtype(0)));
  }
  return binary<fn>(c);
}

Expr add(const Expr& a, const Expr& b) { return a + b; }
Expr sub(const Expr& a, const Expr& b) { return a - b; }
Expr mul(const Expr& a, const Expr& b) { return a * b; }

// Division by a zero that is data must not trap; what it gives is open.
Expr divisor(const Expr& b) {
  return ir::select(ir::eq(b, ir::zero_of(b.dtype())), number(b, 1), b);
}

Expr div(const Expr& a, const Expr& b) { return a.dtype().is_float() ? a / b : a / divisor(b); }

Expr equal(const Expr& a, const Expr& b) { return ir::eq(a, b); }
Expr less(const Expr& a, const Expr& b) { return ir::lt(a, b); }
Expr less_equal(const Expr& a, const Expr& b) { return ir::le(a, b); }
Expr greater(const Expr& a, const Expr& b) { return ir::gt(a, b); }
Expr greater_equal(const Expr& a, const Expr& b) { return ir::ge(a, b); }
Expr both(const Expr& a, const Expr& b) { return ir::logical_and(a, b); }
Expr either(const Expr& a, const Expr& b) { return ir::logical_or(a, b); }
Expr differ(const Expr& a, const Expr& b) { return ir::ne(a, b); }
Expr bit_and(const Expr& a, const Expr& b) { return ir::make_binary(ir::BinaryOp::kBitAnd, a, b); }
Expr bit_or(const Expr& a, const Expr& b) { return ir::make_binary(ir::BinaryOp::kBitOr, a, b); }
Expr bit_xor(const Expr& a, const Expr& b) { return ir::make_binary(ir::BinaryOp::kBitXor, a, b); }

std::vector<ValueId> convert_bit_shift(Convert& c) {
  const std::vector<ValueId> operands{c.input(0), c.input(1)};
  require_same_type(c, operands);
  const std::string direction = c.string_or("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    refuse("direction '{}' is neither LEFT nor RIGHT", direction);
  }
  if (c.dtype(0).is_signed() || c.dtype(0).is_bool()) {
    refuse("operands are {}, not unsigned", ir::to_string(c.dtype(0)));
  }
  const auto op = direction == "LEFT" ? ir::BinaryOp::kShl : ir::BinaryOp::kShr;
  return {c.b().elementwise("bitshift", operands, [&](Args v) {
    const ir::DType t = v[0].dtype();
    const Expr most = ir::make_int(t, t.bits - 1);
    const Expr shifted = ir::make_binary(op, v[0], ir::min(v[1], most));
    return ir::select(ir::le(v[1], most), shifted, ir::zero_of(t));
  })};
}

// a - trunc(a / b) * b, by way of f64 so that the quotient of narrower floats is exact enough. The rest
// by an infinity is a, or the infinity where floor makes the quotient -1.
Expr float_mod(const Expr& a, const Expr& b, Intrinsic rounding) {
  const Expr x = ir::cast(ir::kF64, a);
  const Expr y = ir::cast(ir::kF64, b);
  const Expr rest = x - ir::call(rounding, {x / y}) * y;
  const Expr opposed = ir::lt(x * y, ir::zero_of(ir::kF64));
  const Expr by_infinity = rounding == Intrinsic::kFloor ? ir::select(opposed, y, x) : x;
  const Expr endless = ir::logical_and(ir::call(Intrinsic::kIsInf, {y}),
                                       ir::logical_not(ir::call(Intrinsic::kIsInf, {x})));
  return ir::cast(a.dtype(), ir::select(endless, by_infinity, rest));
}

std::vector<ValueId> convert_mod(Convert& c) {
  const std::vector<ValueId> operands{c.input(0), c.input(1)};
  require_same_type(c, operands);
  require_number(c.dtype(0));
  const bool truncates = c.int_or("fmod", 0) != 0;
  return {c.b().elementwise("mod", operands, [&](Args v) {
    if (v[0].dtype().is_float()) {
      return float_mod(v[0], v[1], truncates ? Intrinsic::kTrunc : Intrinsic::kFloor);
    }
    const Expr by = divisor(v[1]);
    return truncates ? v[0] - v[0] / by * by : ir::floor_mod(v[0], by);
  })};
}

// Powers that need no pow(); undefined for the others.
Expr small_power(const Expr& x, double exponent) {
  if (exponent == 1) {
    return x;
  }
  if (exponent == 2) {
    return x * x;
  }
  if (exponent == 3) {
    return x * x * x;
  }
  if (x.dtype().is_float() && exponent == 0.5) {
    return ir::call(Intrinsic::kSqrt, {x});
  }
  if (x.dtype().is_float() && exponent == -1) {
    return number(x, 1) / x;
  }
  return Expr();
}

std::vector<ValueId> convert_pow(Convert& c) {
  require_number(c.dtype(0));
  const ValueId exponent = second_operand(c);
  const graph::Data known = c.b().data(exponent);
  if (known != nullptr && known->elements() == 1 && known->shape().size() <= c.shape(0).size()) {
    const double e = known->get_double(0);
    if (small_power(ir::Var("x", c.dtype(0)), e).defined()) {
      return {c.b().elementwise("pow", {c.input(0)}, [&](Args v) {
        return in_wide(v[0], [&](const Expr& x) { return small_power(x, e); });
      })};
    }
  }
  return {c.b().elementwise("pow", {c.input(0), exponent}, [](Args v) {
    const ir::DType t = v[0].dtype();
    const bool narrow = t.is_float() && t.bits <= 32 && v[1].dtype() != ir::kF64;
    const ir::DType type = narrow ? ir::kF32 : ir::kF64;
    return ir::cast(t, ir::call(Intrinsic::kPow, {ir::cast(type, v[0]), ir::cast(type, v[1])}));
  })};
}

// ---- any number of operands ------------------------------------------------------------------

template <Binary fn>
Expr folded(Args v) {
  Expr all = v[0];
  for (const Expr& next : v.subspan(1)) {
    all = fn(all, next);
  }
  return all;
}

Expr lesser(const Expr& a, const Expr& b) { return ir::minimum(a, b); }
Expr larger(const Expr& a, const Expr& b) { return ir::maximum(a, b); }

std::vector<ValueId> operands_of_fold(Convert& c) {
  std::vector<ValueId> operands = all_inputs(c);
  if (operands.empty()) {
    refuse("there is no operand");
  }
  require_same_type(c, operands);
  require_number(c.dtype(0));
  return operands;
}

// From left to right, a node for every few operands: one expression would be as deep as they are many.
template <Binary fn>
ValueId fold_all(Convert& c, const std::string& label, const std::vector<ValueId>& operands) {
  constexpr size_t kOperands = 8;
  ValueId all = operands[0];
  for (size_t done = 1; done < operands.size();) {
    const size_t end = std::min(operands.size(), done + kOperands - 1);
    std::vector<ValueId> some{all};
    for (; done < end; ++done) some.push_back(operands[done]);
    all = c.b().elementwise(label, some, folded<fn>);
  }
  return all;
}

template <Binary fn>
std::vector<ValueId> variadic(Convert& c) {
  return {fold_all<fn>(c, label_of(c), operands_of_fold(c))};
}

std::vector<ValueId> convert_mean(Convert& c) {
  const std::vector<ValueId> operands = operands_of_fold(c);
  if (operands.size() == 1) {
    return operands;
  }
  const ValueId sum = fold_all<add>(c, "mean.sum", operands);
  return {c.b().elementwise("mean", {sum}, [&](Args v) {
    return v[0] / number(v[0], static_cast<double>(operands.size()));
  })};
}

// ---- choice and conversion -------------------------------------------------------------------

std::vector<ValueId> convert_where(Convert& c) {
  const std::vector<ValueId> operands{c.input(0), c.input(1), c.input(2)};
  require_same_type(c, {c.input(1), c.input(2)});
  if (!c.dtype(0).is_bool()) {
    refuse("the condition is {}, not bool", ir::to_string(c.dtype(0)));
  }
  return {
      c.b().elementwise("where", operands, [](Args v) { return ir::select(v[0], v[1], v[2]); })};
}

std::vector<ValueId> convert_cast(Convert& c) {
  return {c.b().cast(c.input(0), type_of_number(c.int_or("to", 0)))};
}

std::vector<ValueId> convert_cast_like(Convert& c) { return {c.b().cast(c.input(0), c.dtype(1))}; }

constexpr Row kMathRows[] = {
    {"", "Abs", 1, unary<absolute>},
    {"", "Acos", 7, function<Intrinsic::kAcos>},
    {"", "Acosh", 9, function<Intrinsic::kAcosh>},
    {"", "Add", 1, arithmetic<add>},
    {"", "And", 1, logical<both>},
    {"", "Asin", 7, function<Intrinsic::kAsin>},
    {"", "Asinh", 9, function<Intrinsic::kAsinh>},
    {"", "Atan", 7, function<Intrinsic::kAtan>},
    {"", "Atanh", 9, function<Intrinsic::kAtanh>},
    {"", "BitShift", 11, convert_bit_shift},
    {"", "BitwiseAnd", 18, bitwise<bit_and>},
    {"", "BitwiseNot", 18, unary<bitwise_not>},
    {"", "BitwiseOr", 18, bitwise<bit_or>},
    {"", "BitwiseXor", 18, bitwise<bit_xor>},
    {"", "Cast", 6, convert_cast},
    {"", "CastLike", 15, convert_cast_like},
    {"", "Ceil", 1, function<Intrinsic::kCeil>},
    {"", "Cos", 7, function<Intrinsic::kCos>},
    {"", "Cosh", 9, function<Intrinsic::kCosh>},
    {"", "Div", 1, arithmetic<div>},
    {"", "Equal", 1, binary<equal>},
    {"", "Erf", 9, function<Intrinsic::kErf>},
    {"", "Exp", 1, function<Intrinsic::kExp>},
    {"", "Floor", 1, function<Intrinsic::kFloor>},
    {"", "Greater", 1, arithmetic<greater>},
    {"", "GreaterOrEqual", 12, arithmetic<greater_equal>},
    {"", "IsInf", 10, convert_isinf},
    {"", "IsNaN", 9, convert_isnan},
    {"", "Less", 1, arithmetic<less>},
    {"", "LessOrEqual", 12, arithmetic<less_equal>},
    {"", "Log", 1, function<Intrinsic::kLog>},
    {"", "Max", 1, variadic<larger>},
    {"", "Mean", 1, convert_mean},
    {"", "Min", 1, variadic<lesser>},
    {"", "Mod", 10, convert_mod},
    {"", "Mul", 1, arithmetic<mul>},
    {"", "Neg", 1, on_number<negative>},
    {"", "Not", 1, on_bool<logical_not>},
    {"", "Or", 1, logical<either>},
    {"", "Pow", 1, convert_pow},
    {"", "Reciprocal", 1, convert_reciprocal},
    {"", "Round", 11, function<Intrinsic::kRound>},
    {"", "Sign", 9, on_number<sign>},
    {"", "Sin", 7, function<Intrinsic::kSin>},
    {"", "Sinh", 9, function<Intrinsic::kSinh>},
    {"", "Sqrt", 1, function<Intrinsic::kSqrt>},
    {"", "Sub", 1, arithmetic<sub>},
    {"", "Sum", 1, variadic<add>},
    {"", "Tan", 7, function<Intrinsic::kTan>},
    {"", "Where", 9, convert_where},
    {"", "Xor", 1, logical<differ>},
};

}  // namespace

std::span<const Row> rows_math() { return kMathRows; }

}  // namespace tenon::onnx
