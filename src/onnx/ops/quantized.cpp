// SPDX-License-Identifier: Apache-2.0
// Quantised operators of the standard. Products of 8-bit numbers are summed in i32: as they are stored where the weights are
// known, padded by the zero point; otherwise with the zero points taken off first, so that padding is a plain 0.
#include "onnx/ops/emit.h"
#include "onnx/ops/quantize.h"
#include "onnx/ops/window.h"

namespace tenon::onnx {
namespace {

// One number for each block of `block` places of the axis, spread over the `extent` places.
ValueId spread(Convert& c, ValueId v, size_t axis, int64_t block, int64_t extent) {
  Shape shape = c.b().shape(v);
  if (shape[axis] != (extent + block - 1) / block) {
    refuse("{} blocks of {} do not cover {} places", shape[axis], block, extent);
  }
  shape[axis] = extent;
  return c.b().compute("spread", {v}, [&](te::Builder& t, Tensors in) {
    return t.compute("spread", shape, [&](Axes axes) {
      std::vector<ir::Expr> at(axes.begin(), axes.end());
      at[axis] = ir::floor_div(at[axis], block);
      return ir::load(in[0], at);
    });
  });
}

// Inputs 1 and 2 for input 0; since opset 21 perhaps by blocks.
Quantizer quantizer_of(Convert& c) {
  const int64_t rank = c.rank(0);
  const bool single = count_elements(c.shape(1)) == 1;
  const int64_t axis = single ? 0 : Convert::axis(c.int_or("axis", 1), rank);
  Quantizer q = read_quantizer(c, 1, 2, axis, rank);
  if (const int64_t block = c.int_or("block_size", 0); block > 0 && c.rank(1) == rank) {
    const auto d = static_cast<size_t>(Convert::axis(c.int_or("axis", 1), rank));
    const int64_t extent = c.shape(0)[d];
    q = {spread(c, c.input(1), d, block, extent),
         c.has_input(2) ? spread(c, c.input(2), d, block, extent) : -1};
  }
  return q;
}

// The type that an attribute numbers; none where it is absent or 0.
std::optional<ir::DType> type_attribute(Convert& c, const std::string& name) {
  const int64_t type = c.int_or(name, 0);
  return type == 0 ? std::optional<ir::DType>() : type_of_number(type);
}

std::vector<ValueId> convert_quantize(Convert& c) {
  const std::optional<ir::DType> wanted = type_attribute(c, "output_dtype");
  const ir::DType t = c.has_input(2) ? c.dtype(2) : wanted.value_or(ir::kU8);
  return {quantized(c, c.input(0), quantizer_of(c), t, type_attribute(c, "precision"))};
}

std::vector<ValueId> convert_dequantize(Convert& c) {
  return {dequantized(c, c.input(0), quantizer_of(c), type_attribute(c, "output_dtype"))};
}

std::vector<ValueId> convert_dynamic_quantize(Convert& c) {
  require_float(c.dtype(0));
  if (is_empty(c, c.input(0))) {
    refuse("an operand without elements");
  }
  const Quantizer q = covering(c, c.input(0));
  return {quantized(c, c.input(0), q, ir::kU8), q.scale, q.zero};
}

// ---- convolution -----------------------------------------------------------------------------

// Sums of (x - x_zero) * (w - w_zero) in i32. Weights that are known and fit i8 without their zero points are multiplied
// with x as it is stored, whose zero point is then taken off the sums.
ValueId integer_conv(Convert& c, ValueId x, ValueId x_zero, ValueId w, ValueId w_zero) {
  const Shape weights = c.b().shape(w);
  if (weights.size() < 3 || weights.size() != c.b().shape(x).size()) {
    refuse("an input of rank {} with weights of rank {}", c.b().shape(x).size(), weights.size());
  }
  graph::Conv conv{read_windows(c, {weights.begin() + 2, weights.end()}).params};
  conv.params.groups = c.int_or("group", 1);
  const auto zero = known_zero(c, x_zero);
  const auto bytes = zero && is_byte(c, x) ? bytes_of_weights(c, w, w_zero, 0) : std::nullopt;
  if (!bytes) {
    return c.b().add("conv", conv, {without_zero(c, x, x_zero), without_zero(c, w, w_zero)});
  }
  conv.params.pad_value = *zero;
  const ValueId sum = c.b().add("conv", conv, {x, bytes->w});
  return without_sums(c, sum, *zero, along_axis(c, bytes->sums, 1, c.rank(0)));
}

std::vector<ValueId> convert_conv_integer(Convert& c) {
  return {integer_conv(c, c.input(0), read_zero(c, 2, 1, c.rank(0)), c.input(1),
                       read_zero(c, 3, 0, c.rank(1)))};
}

std::vector<ValueId> convert_qlinear_conv(Convert& c) {
  const int64_t rank = c.rank(0);
  const Quantizer x = read_quantizer(c, 1, 2, 1, rank);
  const Quantizer w =
      read_quantizer(c, 4, 5, 1, rank);  // the scale lies along the output's channels
  const Quantizer y = read_quantizer(c, 6, 7, 1, rank);
  ValueId sum = integer_conv(c, c.input(0), x.zero, c.input(3), read_zero(c, 5, 0, c.rank(3)));
  if (c.has_input(8)) {
    const ValueId bias = along_axis(c, c.input(8), 1, rank);
    require_same_type(c, {sum, bias});
    sum = c.b().elementwise("bias", {sum, bias}, [](Args v) { return v[0] + v[1]; });
  }
  return {requantized(c, sum, x, w, y, c.dtype(7))};
}

// ---- matrix product --------------------------------------------------------------------------

// The left operand has parameters per row, the right one per column.
int64_t rows_of(int64_t rank) { return rank > 1 ? rank - 2 : 0; }
int64_t columns_of(int64_t rank) { return rank - 1; }

std::vector<ValueId> convert_matmul_integer(Convert& c) {
  const int64_t ra = c.rank(0);
  const int64_t rb = c.rank(1);
  return {integer_matmul(c, c.input(0), read_zero(c, 2, rows_of(ra), ra), c.input(1),
                         read_zero(c, 3, columns_of(rb), rb))};
}

std::vector<ValueId> convert_qlinear_matmul(Convert& c) {
  const int64_t ra = c.rank(0);
  const int64_t rb = c.rank(3);
  const ValueId sum = integer_matmul(c, c.input(0), read_zero(c, 2, rows_of(ra), ra), c.input(3),
                                     read_zero(c, 5, columns_of(rb), rb));
  const auto rank = static_cast<int64_t>(c.b().shape(sum).size());
  const Quantizer qa{read_quantizer(c, 1, 2, rows_of(rank), rank).scale, -1};
  const Quantizer qb{read_quantizer(c, 4, 5, columns_of(rank), rank).scale, -1};
  const Quantizer qy = read_quantizer(c, 6, 7, rows_of(rank), rank);
  return {requantized(c, sum, qa, qb, qy, c.dtype(7))};
}

constexpr Row kQuantizedRows[] = {
    {"", "ConvInteger", 10, convert_conv_integer},
    {"", "DequantizeLinear", 10, convert_dequantize},
    {"", "DynamicQuantizeLinear", 11, convert_dynamic_quantize},
    {"", "MatMulInteger", 10, convert_matmul_integer},
    {"", "QLinearConv", 10, convert_qlinear_conv},
    {"", "QLinearMatMul", 10, convert_qlinear_matmul},
    {"", "QuantizeLinear", 10, convert_quantize},
    {"com.microsoft", "DequantizeLinear", 1, convert_dequantize},
    {"com.microsoft", "QuantizeLinear", 1, convert_quantize},
};

}  // namespace

std::span<const Row> rows_quantized() { return kQuantizedRows; }

}  // namespace tenon::onnx
