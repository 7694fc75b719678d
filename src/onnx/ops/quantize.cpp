// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/quantize.h"

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;
using ir::Intrinsic;

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

// A real number, already divided by the scale, to its integer. NaN stays up to the cast, which makes it 0.
Expr saturated(const Expr& v, const Expr& zero, ir::DType t) {
  Expr whole = ir::call(Intrinsic::kRound, {v});
  if (zero.defined()) {
    whole = whole + ir::cast(v.dtype(), zero);
  }
  const auto bound = [&](int64_t limit) { return number(v, static_cast<double>(limit)); };
  return ir::cast(t, ir::min(ir::max(whole, bound(ir::lowest_int(t))), bound(ir::highest_int(t))));
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
  return c.b().elementwise("quantize", with_zero({x, q.scale}, q.zero), [&](Args v) {
    return saturated(ir::cast(type, v[0]) / ir::cast(type, v[1]), zero_or_none(v, 2), t);
  });
}

ValueId dequantized(Convert& c, ValueId x, const Quantizer& q, std::optional<ir::DType> to) {
  const ir::DType t = to.value_or(c.b().dtype(q.scale));
  require_float(t);
  if (!c.b().dtype(x).is_int() || c.b().dtype(x).bits > 32) {
    refuse("numbers are stored as {}", ir::to_string(c.b().dtype(x)));
  }
  return c.b().elementwise("dequantize", with_zero({x, q.scale}, q.zero), [&](Args v) {
    Expr whole = ir::cast(ir::kI32, v[0]);
    if (v.size() > 2) {
      whole = whole - ir::cast(ir::kI32, v[2]);
    }
    return ir::cast(t, ir::cast(wide(t), whole) * ir::cast(wide(t), v[1]));
  });
}

ValueId without_zero(Convert& c, ValueId x, ValueId zero) {
  const ir::DType t = c.b().dtype(x);
  if (!t.is_int() || t.bits != 8) {
    refuse("numbers are stored as {}, not in 8 bits", ir::to_string(t));
  }
  if (zero < 0 || is_known_zero(c, zero)) {
    return x;
  }
  return c.b().elementwise("offset", {x, zero}, [](Args v) {
    return ir::cast(ir::kI16, v[0]) - ir::cast(ir::kI16, v[1]);
  });
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
    return saturated(ir::cast(v[1].dtype(), v[0]) * v[1], zero_or_none(v, 2), t);
  });
}

ValueId integer_matmul(Convert& c, ValueId a, ValueId b) {
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
  const ValueId y = c.b().add("matmul", graph::MatMul{}, {a, b});
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
    return saturated(-(ir::min(v[0], ir::zero_of(v[0].dtype())) / v[1]), Expr(), ir::kU8);
  });
  return {scale, zero};
}

}  // namespace tenon::onnx
