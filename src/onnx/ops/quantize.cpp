// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/quantize.h"

#include "graph/passes/stored.h"
#include "onnx/ops/emit.h"
#include "te/quantize.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

ValueId shaped(Convert& c, size_t i, int64_t axis, int64_t rank) {
  const ValueId v = c.input(i);
  if (count_elements(c.b().shape(v)) == 1) {
    return c.b().reshape(v, {});
  }
  if (c.rank(i) == 1) {
    return along_axis(c, v, axis, rank);
  }
  if (c.rank(i) != rank) {
    refuse("a scale or zero point of rank {} for a tensor of rank {}", c.rank(i), rank);
  }
  return v;
}

bool is_known_zero(Convert& c, ValueId v) {
  const graph::Data known = c.b().data(v);
  if (known == nullptr) {
    return false;
  }
  for (int64_t i = 0; i < known->elements(); ++i) {
    if (known->get_double(i) != 0) {
      return false;
    }
  }
  return true;
}

void require_storage(ir::DType t) {
  if (!t.is_int() || t.bits > 16) {
    refuse("numbers are stored as {}, not in 8 or 16 bits", ir::to_string(t));
  }
}

std::vector<ValueId> with_zero(std::vector<ValueId> operands, ValueId zero) {
  if (zero >= 0) {
    operands.push_back(zero);
  }
  return operands;
}

Expr zero_or_none(Args v, size_t i) { return i < v.size() ? v[i] : Expr(); }

ValueId whole_reduction(Convert& c, ValueId x, const std::string& label, ir::BinaryOp combiner) {
  const int64_t count = count_elements(c.b().shape(x));
  const ValueId flat = c.b().reshape(x, {count});
  return c.b().compute(label, {flat}, [&](te::Builder& t, Tensors in) {
    return te::reduce_dims(t, label, in[0], combiner, {0}, false);
  });
}

}  // namespace

bool is_byte(Convert& c, ValueId x) {
  const ir::DType t = c.b().dtype(x);
  return t.is_int() && t.bits == 8;
}

ValueId read_zero(Convert& c, size_t i, int64_t axis, int64_t rank) {
  return c.has_input(i) ? shaped(c, i, axis, rank) : -1;
}

Quantizer read_quantizer(Convert& c, size_t scale, size_t zero, int64_t axis, int64_t rank) {
  require_float(c.dtype(scale));
  return {shaped(c, scale, axis, rank), read_zero(c, zero, axis, rank)};
}

ValueId quantized(Convert& c, ValueId x, const Quantizer& q, ir::DType t,
                  std::optional<ir::DType> precision) {
  require_storage(t);
  const ir::DType type = wide(precision.value_or(c.b().dtype(q.scale)));
  require_float(type);
  if (is_empty(c, x)) return c.b().empty(t, c.b().shape(x));
  return c.b().add("quantize", graph::Quantize{t, type}, with_zero({x, q.scale}, q.zero));
}

ValueId dequantized(Convert& c, ValueId x, const Quantizer& q, std::optional<ir::DType> to) {
  const ir::DType t = to.value_or(c.b().dtype(q.scale));
  require_float(t);
  if (!c.b().dtype(x).is_int() || c.b().dtype(x).bits > 32) {
    refuse("numbers are stored as {}", ir::to_string(c.b().dtype(x)));
  }
  if (is_empty(c, x)) return c.b().empty(t, c.b().shape(x));
  return c.b().add("dequantize", graph::Dequantize{t}, with_zero({x, q.scale}, q.zero));
}

ValueId without_zero(Convert& c, ValueId x, ValueId zero) {
  if (!is_byte(c, x)) {
    refuse("numbers are stored as {}, not in 8 bits", ir::to_string(c.b().dtype(x)));
  }
  if (zero < 0 || is_known_zero(c, zero)) {
    return x;
  }
  return c.b().elementwise("offset", {x, zero}, [](Args v) {
    return ir::cast(ir::kI16, v[0]) - ir::cast(ir::kI16, v[1]);
  });
}

std::optional<int64_t> known_zero(Convert& c, ValueId zero) {
  if (zero < 0) return 0;
  const graph::Data known = c.b().data(zero);
  if (known == nullptr || known->elements() != 1) return std::nullopt;
  return static_cast<int64_t>(known->get_double(0));
}

std::optional<ByteWeights> bytes_of_weights(Convert& c, ValueId w, ValueId zero, size_t axis) {
  const graph::Data known = c.b().data(w);
  if (known == nullptr || !is_byte(c, w)) return std::nullopt;
  const auto count = static_cast<size_t>(known->shape()[axis]);
  std::optional<std::vector<double>> zeros = std::vector<double>(count, 0);
  if (zero >= 0) {
    const graph::Data data = c.b().data(zero);
    zeros = data == nullptr ? std::nullopt : graph::per_channel(*data, known->shape(), axis);
  }
  if (!zeros || known->elements() == 0) return std::nullopt;
  std::optional<ir::Array> made = graph::centred(*known, *zeros, axis);
  if (!made) return std::nullopt;
  const std::vector<int64_t> sums = graph::channel_sums(*made, axis);
  ir::Array all(ir::kI32, {static_cast<int64_t>(sums.size())});
  for (size_t i = 0; i < sums.size(); ++i) all.set(static_cast<int64_t>(i), {sums[i], 0});
  return ByteWeights{c.b().constant(std::move(*made), c.b().value(w).name),
                     c.b().constant(std::move(all), "sums")};
}

ValueId without_sums(Convert& c, ValueId sum, int64_t zero, ValueId sums) {
  if (zero == 0) return sum;
  return c.b().elementwise("offset", {sum, sums},
                           [&](Args v) { return v[0] - v[1] * ir::make_int(ir::kI32, zero); });
}

ValueId requantized(Convert& c, ValueId sum, const Quantizer& a, const Quantizer& b,
                    const Quantizer& y, ir::DType t) {
  require_storage(t);
  require_same_type(c, {a.scale, b.scale, y.scale});
  const ValueId factor = c.b().elementwise("factor", {a.scale, b.scale, y.scale}, [](Args v) {
    const ir::DType type = wide(v[0].dtype());
    return ir::cast(type, v[0]) * ir::cast(type, v[1]) / ir::cast(type, v[2]);
  });
  return c.b().elementwise("requantize", with_zero({sum, factor}, y.zero), [&](Args v) {
    return te::saturated(ir::cast(v[1].dtype(), v[0]) * v[1], zero_or_none(v, 2), t);
  });
}

namespace {

// The operands are matrices, or batches of them.
ValueId integer_product(Convert& c, ValueId a, ValueId a_zero, ValueId b, ValueId b_zero) {
  const auto zero = known_zero(c, a_zero);
  const auto bytes = zero && is_byte(c, a) && c.b().shape(b).size() == 2
                         ? bytes_of_weights(c, b, b_zero, 1)
                         : std::nullopt;
  if (!bytes) {
    return c.b().add("matmul", graph::MatMul{},
                     {without_zero(c, a, a_zero), without_zero(c, b, b_zero)});
  }
  const ValueId sum = c.b().add("matmul", graph::MatMul{}, {a, bytes->w});
  return without_sums(c, sum, *zero, bytes->sums);
}

}  // namespace

ValueId integer_matmul(Convert& c, ValueId a, ValueId a_zero, ValueId b, ValueId b_zero) {
  Shape left = c.b().shape(a);
  Shape right = c.b().shape(b);
  if (left.empty() || right.empty()) {
    refuse("an operand has no dimensions");
  }
  const bool row = left.size() == 1;
  const bool column = right.size() == 1;
  if (row) {
    a = c.b().reshape(a, {1, left[0]});
  }
  if (column) {
    b = c.b().reshape(b, {right[0], 1});
  }
  const ValueId y = integer_product(c, a, a_zero, b, b_zero);
  Shape shape = c.b().shape(y);
  if (row) {
    shape.erase(shape.end() - 2);
  }
  if (column) {
    shape.pop_back();
  }
  return c.b().reshape(y, shape);
}

Quantizer covering(Convert& c, ValueId x) {
  const ValueId low = whole_reduction(c, x, "lowest", minimum_of(c.b().dtype(x)));
  const ValueId high = whole_reduction(c, x, "highest", maximum_of(c.b().dtype(x)));
  const ValueId scale = c.b().elementwise("scale", {low, high}, [](Args v) {
    const Expr zero = ir::zero_of(v[0].dtype());
    const Expr range = ir::max(v[1], zero) - ir::min(v[0], zero);
    return ir::select(ir::eq(range, zero), number(range, 1), range / number(range, 255));
  });
  const ValueId zero = c.b().elementwise("zero", {low, scale}, [](Args v) {
    return te::saturated(-(ir::min(v[0], ir::zero_of(v[0].dtype())) / v[1]), Expr(), ir::kU8);
  });
  return {scale, zero};
}

}  // namespace tenon::onnx
