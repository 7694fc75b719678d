// SPDX-License-Identifier: Apache-2.0
// Element-wise activations. Formulas of 16-bit floats are computed in f32 and rounded once.
#include <cmath>
#include <limits>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;
using ir::Intrinsic;

Expr exp(const Expr& x) { return ir::call(Intrinsic::kExp, {x}); }
Expr zero(const Expr& x) { return ir::zero_of(x.dtype()); }
Expr is_negative(const Expr& x) { return ir::lt(x, zero(x)); }
Expr between(const Expr& x, double lo, double hi) {
  return ir::min(ir::max(x, number(x, lo)), number(x, hi));
}

// A formula of x and of the attributes, which are read once.
template <class Formula>
std::vector<ValueId> activation(Convert& c, const Formula& formula) {
  require_float(c.dtype(0));
  return {
      c.b().elementwise(label_of(c), {c.input(0)}, [&](Args v) { return in_wide(v[0], formula); })};
}

template <Intrinsic fn>
std::vector<ValueId> function(Convert& c) {
  return activation(c, [](const Expr& x) { return ir::call(fn, {x}); });
}

std::vector<ValueId> convert_relu(Convert& c) {
  if (c.dtype(0).is_bool()) {
    refuse("the operand is bool");
  }
  return {
      c.b().elementwise("relu", {c.input(0)}, [](Args v) { return ir::max(v[0], zero(v[0])); })};
}

std::vector<ValueId> convert_leaky_relu(Convert& c) {
  const double alpha = c.float_or("alpha", 0.01);
  return activation(
      c, [&](const Expr& x) { return ir::select(is_negative(x), x * number(x, alpha), x); });
}

// Before opset 7 a slope of one dimension lay along the channels.
std::vector<ValueId> convert_prelu(Convert& c) {
  require_number(c.dtype(0));
  ValueId slope = c.input(1);
  if (c.opset() < 7 && c.rank(1) == 1 && c.rank(0) > 1) {
    slope = along_axis(c, slope, 1, c.rank(0));
  }
  require_same_type(c, {c.input(0), slope});
  return {c.b().elementwise("prelu", {c.input(0), slope}, [](Args v) {
    return ir::select(ir::lt(zero(v[0]), v[0]), v[0], v[0] * v[1]);
  })};
}

std::vector<ValueId> convert_elu(Convert& c) {
  const double alpha = c.float_or("alpha", 1.0);
  return activation(c, [&](const Expr& x) {
    return ir::select(is_negative(x), number(x, alpha) * (exp(x) - number(x, 1)), x);
  });
}

std::vector<ValueId> convert_selu(Convert& c) {
  const double alpha = c.float_or("alpha", c.opset() < 6 ? 1.6732 : 1.67326319217681884765625);
  const double gamma = c.float_or("gamma", c.opset() < 6 ? 1.0507 : 1.05070102214813232421875);
  return activation(c, [&](const Expr& x) {
    const Expr below = number(x, alpha * gamma) * (exp(x) - number(x, 1));
    return ir::select(ir::le(x, zero(x)), below, x * number(x, gamma));
  });
}

std::vector<ValueId> convert_celu(Convert& c) {
  const double alpha = c.float_or("alpha", 1.0);
  return activation(c, [&](const Expr& x) {
    const Expr below = number(x, alpha) * (exp(x / number(x, alpha)) - number(x, 1));
    return ir::max(x, zero(x)) + ir::min(below, zero(x));
  });
}

std::vector<ValueId> convert_thresholded_relu(Convert& c) {
  const double alpha = c.float_or("alpha", 1.0);
  return activation(
      c, [&](const Expr& x) { return ir::select(ir::lt(number(x, alpha), x), x, zero(x)); });
}

std::vector<ValueId> convert_hard_sigmoid(Convert& c) {
  const double alpha = c.float_or("alpha", 0.2);
  const double beta = c.float_or("beta", 0.5);
  return activation(
      c, [&](const Expr& x) { return between(x * number(x, alpha) + number(x, beta), 0, 1); });
}

// The standard defines HardSwish by HardSigmoid, whose attribute is a float.
constexpr double kSixth = 1.0F / 6;

std::vector<ValueId> convert_hard_swish(Convert& c) {
  return activation(
      c, [](const Expr& x) { return x * between(x * number(x, kSixth) + number(x, 0.5), 0, 1); });
}

// log(1 + exp(x)) without overflow.
Expr softplus(const Expr& x) {
  const Expr tail = number(x, 1) + exp(-ir::call(Intrinsic::kAbs, {x}));
  return ir::max(x, zero(x)) + ir::call(Intrinsic::kLog, {tail});
}

std::vector<ValueId> convert_softplus(Convert& c) { return activation(c, softplus); }

std::vector<ValueId> convert_mish(Convert& c) {
  return activation(c, [](const Expr& x) { return x * ir::call(Intrinsic::kTanh, {softplus(x)}); });
}

std::vector<ValueId> convert_softsign(Convert& c) {
  return activation(
      c, [](const Expr& x) { return x / (number(x, 1) + ir::call(Intrinsic::kAbs, {x})); });
}

Expr gelu(const Expr& x) {
  const Expr erf = ir::call(Intrinsic::kErf, {x * number(x, std::sqrt(0.5))});
  return x * number(x, 0.5) * (erf + number(x, 1));
}

Expr gelu_by_tanh(const Expr& x) {
  const Expr inner = x + number(x, 0.044715) * (x * x * x);
  const Expr tanh = ir::call(Intrinsic::kTanh, {number(x, std::sqrt(2 / M_PI)) * inner});
  return x * number(x, 0.5) * (tanh + number(x, 1));
}

std::vector<ValueId> convert_gelu(Convert& c) {
  const std::string approximate = c.string_or("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    refuse("approximate '{}' is neither none nor tanh", approximate);
  }
  return activation(c, approximate == "tanh" ? gelu_by_tanh : gelu);
}

// com.microsoft: an activation after a bias that may be absent.
template <Expr (*fn)(const Expr&)>
std::vector<ValueId> biased(Convert& c) {
  if (!c.has_input(1)) {
    return activation(c, fn);
  }
  require_float(c.dtype(0));
  require_same_type(c, {c.input(0), c.input(1)});
  return {c.b().elementwise(label_of(c), {c.input(0), c.input(1)},
                            [](Args v) { return in_wide(v[0] + v[1], fn); })};
}

std::vector<ValueId> convert_quick_gelu(Convert& c) {
  const double alpha = c.float_or("alpha", 1.702);
  return activation(
      c, [&](const Expr& x) { return x * ir::call(Intrinsic::kSigmoid, {x * number(x, alpha)}); });
}

std::vector<ValueId> convert_swish(Convert& c) {
  const double alpha = c.float_or("alpha", 1.0);
  return activation(
      c, [&](const Expr& x) { return x * ir::call(Intrinsic::kSigmoid, {x * number(x, alpha)}); });
}

std::vector<ValueId> convert_shrink(Convert& c) {
  const double bias = c.float_or("bias", 0.0);
  const double lambda = c.float_or("lambd", 0.5);
  return {c.b().elementwise("shrink", {c.input(0)}, [&](Args v) {
    const ir::DType t = v[0].dtype();
    // The bounds of an integer need not be integers.
    const Expr x = t.is_float() ? v[0] : ir::cast(ir::kF64, v[0]);
    const Expr above = ir::select(ir::lt(number(x, lambda), x), x - number(x, bias), zero(x));
    return ir::cast(t, ir::select(ir::lt(x, number(x, -lambda)), x + number(x, bias), above));
  })};
}

// One bound of Clip: an attribute before opset 11, which is a finite f32 where it is absent, then an
// input, absent for none.
struct Bound {
  std::optional<Expr> value;  // known
  ValueId operand = -1;       // computed
};

Bound bound(Convert& c, const std::string& attribute, size_t input, double default_value) {
  Bound b;
  if (c.opset() < 11) {
    b.value = ir::make_const(c.dtype(0), c.float_or(attribute, default_value));
  } else if (c.has_input(input)) {
    require_same_type(c, {c.input(0), c.input(input)});
    if (count_elements(c.shape(input)) != 1) {
      refuse("{} is not one number", attribute);
    }
    if (const graph::Data known = c.b().data(c.input(input))) {
      b.value = literal(*known);
    } else {
      b.operand = c.rank(input) == 0 ? c.input(input) : c.b().reshape(c.input(input), {});
    }
  }
  return b;
}

bool is_nan(const Expr& constant) {
  const auto* f = constant.as<ir::FloatImm>();
  return f != nullptr && std::isnan(f->value);
}

// A known bound on the right, as a number, keeps a NaN of x for nothing.
std::vector<ValueId> convert_clip(Convert& c) {
  require_number(c.dtype(0));
  constexpr double kHighest = std::numeric_limits<float>::max();
  const Bound lo = bound(c, "min", 1, -kHighest);
  const Bound hi = bound(c, "max", 2, kHighest);
  if (!lo.value && lo.operand < 0 && !hi.value && hi.operand < 0) {
    return {c.input(0)};
  }
  std::vector<ValueId> operands{c.input(0)};
  for (const Bound* b : {&lo, &hi}) {
    if (b->operand >= 0) {
      operands.push_back(b->operand);
    }
  }
  return {c.b().elementwise("clip", operands, [&](Args v) {
    Expr x = v[0];
    size_t next = 1;
    if (lo.value || lo.operand >= 0) {
      x = lo.value && !is_nan(*lo.value) ? ir::max(x, *lo.value)
                                         : ir::maximum(x, lo.value ? *lo.value : v[next++]);
    }
    if (hi.value || hi.operand >= 0) {
      x = hi.value && !is_nan(*hi.value) ? ir::min(x, *hi.value)
                                         : ir::minimum(x, hi.value ? *hi.value : v[next]);
    }
    return x;
  })};
}

constexpr Row kActivationRows[] = {
    {"", "Celu", 12, convert_celu},
    {"", "Clip", 6, convert_clip},
    {"", "Elu", 1, convert_elu},
    {"", "Gelu", 20, convert_gelu},
    {"", "HardSigmoid", 1, convert_hard_sigmoid},
    {"", "HardSwish", 14, convert_hard_swish},
    {"", "LeakyRelu", 1, convert_leaky_relu},
    {"", "Mish", 18, convert_mish},
    {"", "PRelu", 1, convert_prelu},
    {"", "Relu", 1, convert_relu},
    {"", "Selu", 1, convert_selu},
    {"", "Shrink", 9, convert_shrink},
    {"", "Sigmoid", 1, function<Intrinsic::kSigmoid>},
    {"", "Softplus", 1, convert_softplus},
    {"", "Softsign", 1, convert_softsign},
    {"", "Swish", 24, convert_swish},
    {"", "Tanh", 1, function<Intrinsic::kTanh>},
    {"", "ThresholdedRelu", 1, convert_thresholded_relu},
    {"com.microsoft", "BiasGelu", 1, biased<gelu>},
    {"com.microsoft", "FastGelu", 1, biased<gelu_by_tanh>},
    {"com.microsoft", "Gelu", 1, convert_gelu},
    {"com.microsoft", "QuickGelu", 1, convert_quick_gelu},
};

}  // namespace

std::span<const Row> rows_activation() { return kActivationRows; }

}  // namespace tenon::onnx
