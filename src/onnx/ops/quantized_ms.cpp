// SPDX-License-Identifier: Apache-2.0
// Quantised operators that ONNX Runtime's quantiser writes (domain com.microsoft).
#include "onnx/ops/emit.h"
#include "onnx/ops/quantize.h"

namespace tenon::onnx {
namespace {

using ir::Expr;
using ir::Intrinsic;

// Operand `first` with its scale and zero point behind it, as a real number.
ValueId real_operand(Convert& c, size_t first, int64_t axis = 0) {
  return dequantized(c, c.input(first),
                     read_quantizer(c, first + 1, first + 2, axis, c.rank(first)));
}

// Back to integers with the scale and zero point at `scale`.
std::vector<ValueId> stored_result(Convert& c, ValueId y, size_t scale) {
  const auto rank = static_cast<int64_t>(c.b().shape(y).size());
  const ir::DType t = c.has_input(scale + 1) ? c.dtype(scale + 1) : ir::kU8;
  return {quantized(c, y, read_quantizer(c, scale, scale + 1, 0, rank), t)};
}

template <Expr (*fn)(const Expr&, const Expr&)>
std::vector<ValueId> binary(Convert& c) {
  const ValueId y = c.b().elementwise(label_of(c), {real_operand(c, 0), real_operand(c, 3)},
                                      [](Args v) { return fn(v[0], v[1]); });
  return stored_result(c, y, 6);
}

Expr add(const Expr& a, const Expr& b) { return a + b; }
Expr mul(const Expr& a, const Expr& b) { return a * b; }

std::vector<ValueId> convert_sigmoid(Convert& c) {
  const ValueId y = c.b().elementwise("sigmoid", {real_operand(c, 0)},
                                      [](Args v) { return ir::call(Intrinsic::kSigmoid, {v[0]}); });
  return stored_result(c, y, 3);
}

std::vector<ValueId> convert_leaky_relu(Convert& c) {
  const double alpha = c.float_or("alpha", 0.01);
  const ValueId y = c.b().elementwise("leakyrelu", {real_operand(c, 0)}, [&](Args v) {
    return ir::select(ir::lt(v[0], ir::zero_of(v[0].dtype())), v[0] * number(v[0], alpha), v[0]);
  });
  return stored_result(c, y, 3);
}

std::vector<ValueId> convert_global_average_pool(Convert& c) {
  const bool last = c.int_or("channels_last", 0) != 0;
  const int64_t rank = c.rank(0);
  if (rank < 3) {
    refuse("an operand of rank {}, less than 3", rank);
  }
  std::vector<int64_t> axes;
  double count = 1;
  for (int64_t d = last ? 1 : 2; d < (last ? rank - 1 : rank); ++d) {
    axes.push_back(d);
    count *= static_cast<double>(c.shape(0)[static_cast<size_t>(d)]);
  }
  const ValueId x = real_operand(c, 0);
  const ValueId sum = c.b().compute("pool", {x}, [&](te::Builder& t, Tensors in) {
    return te::reduce_dims(t, "pool", in[0], ir::BinaryOp::kAdd, axes, true);
  });
  const ValueId mean =
      c.b().elementwise("mean", {sum}, [&](Args v) { return v[0] * number(v[0], 1 / count); });
  return stored_result(c, mean, 3);
}

// Scale and zero point of the result come first, then each operand with its own.
std::vector<ValueId> convert_concat(Convert& c) {
  if (c.num_inputs() < 5 || c.num_inputs() % 3 != 2) {
    refuse("{} inputs", c.num_inputs());
  }
  std::vector<ValueId> parts;
  for (size_t i = 2; i < c.num_inputs(); i += 3) {
    parts.push_back(real_operand(c, i));
  }
  const int64_t axis = Convert::axis(c.int_or("axis", 0), c.rank(2));
  const ValueId y = c.b().compute("concat", parts, [&](te::Builder& t, Tensors in) {
    return te::concat(t, "concat", {in.begin(), in.end()}, axis);
  });
  return stored_result(c, y, 0);
}

// Sums of products, times both scales, plus a bias that may be absent.
ValueId scaled_product(Convert& c, ValueId sum, ValueId a_scale, ValueId b_scale, size_t bias) {
  std::vector<ValueId> operands{sum, a_scale, b_scale};
  if (c.has_input(bias)) {
    operands.push_back(c.input(bias));
  }
  return c.b().elementwise("scale", operands, [](Args v) {
    const Expr y = ir::cast(v[1].dtype(), v[0]) * (v[1] * v[2]);
    return v.size() > 3 ? y + v[3] : y;
  });
}

std::vector<ValueId> convert_matmul_integer_to_float(Convert& c) {
  const int64_t ra = c.rank(0);
  const int64_t rb = c.rank(1);
  const ValueId sum = integer_matmul(c, c.input(0), read_zero(c, 4, ra > 1 ? ra - 2 : 0, ra),
                                     c.input(1), read_zero(c, 5, rb - 1, rb));
  const auto rank = static_cast<int64_t>(c.b().shape(sum).size());
  const ValueId a_scale = read_quantizer(c, 2, 4, rank > 1 ? rank - 2 : 0, rank).scale;
  const ValueId b_scale = read_quantizer(c, 3, 5, rank - 1, rank).scale;
  return {scaled_product(c, sum, a_scale, b_scale, 6)};
}

std::vector<ValueId> convert_dynamic_quantize_matmul(Convert& c) {
  const Quantizer qa = covering(c, c.input(0));
  const ValueId stored = quantized(c, c.input(0), qa, ir::kU8);
  const int64_t rb = c.rank(1);
  const ValueId sum = integer_matmul(c, stored, qa.zero, c.input(1), read_zero(c, 3, rb - 1, rb));
  const auto rank = static_cast<int64_t>(c.b().shape(sum).size());
  const ValueId b_scale = read_quantizer(c, 2, 3, rank - 1, rank).scale;
  return {scaled_product(c, sum, qa.scale, b_scale, 4)};
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr Row kQuantizedMsRows[] = {
    {kDomain, "DynamicQuantizeMatMul", 1, convert_dynamic_quantize_matmul},
    {kDomain, "MatMulIntegerToFloat", 1, convert_matmul_integer_to_float},
    {kDomain, "QLinearAdd", 1, binary<add>},
    {kDomain, "QLinearConcat", 1, convert_concat},
    {kDomain, "QLinearGlobalAveragePool", 1, convert_global_average_pool},
    {kDomain, "QLinearLeakyRelu", 1, convert_leaky_relu},
    {kDomain, "QLinearMul", 1, binary<mul>},
    {kDomain, "QLinearSigmoid", 1, convert_sigmoid},
};

}  // namespace

std::span<const Row> rows_quantized_ms() { return kQuantizedMsRows; }

}  // namespace tenon::onnx
