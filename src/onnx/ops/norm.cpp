// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/ops/emit.h"
#include "onnx/ops/moments.h"

namespace tenon::onnx {
namespace {

using ir::Expr;

int64_t product(const Shape& s, size_t from, size_t to) {
  return std::accumulate(s.begin() + static_cast<std::ptrdiff_t>(from),
                         s.begin() + static_cast<std::ptrdiff_t>(to), int64_t{1},
                         std::multiplies<>());
}

void require_channels(Convert& c, size_t input, std::string_view what) {
  if (c.rank(0) < 2) refuse("an input of {} dimensions has no channels", c.rank(0));
  if (c.shape(input) != Shape{c.shape(0)[1]}) {
    refuse("{} does not have one element for each of {} channels", what, c.shape(0)[1]);
  }
  require_float(c.dtype(input));
}

ValueId per_channel(Convert& c, ValueId v) { return along_axis(c, v, 1, c.rank(0)); }

Expr rsqrt(const Expr& x) { return ir::call(ir::Intrinsic::kRsqrt, {x}); }

// x * scale + shift with both known: one node that folds into the weights before it.
ValueId apply_known_batch_norm(Convert& c, double epsilon) {
  const graph::Data scale = c.b().data(c.input(1)), bias = c.b().data(c.input(2));
  const graph::Data mean = c.b().data(c.input(3)), variance = c.b().data(c.input(4));
  const ir::DType t = wide(c.dtype(0));
  ir::Array factor(t, {scale->elements()}), shift(t, {scale->elements()});
  for (int64_t i = 0; i < scale->elements(); ++i) {
    const double f = scale->get_double(i) / std::sqrt(variance->get_double(i) + epsilon);
    factor.set_double(i, f);
    shift.set_double(i, bias->get_double(i) - mean->get_double(i) * f);
  }
  const ValueId f = per_channel(c, c.b().constant(std::move(factor), "batch_norm.scale"));
  const ValueId s = per_channel(c, c.b().constant(std::move(shift), "batch_norm.shift"));
  return c.b().elementwise("batch_norm", {c.input(0), f, s}, [](Args x) {
    return ir::cast(x[0].dtype(), ir::cast(x[1].dtype(), x[0]) * x[1] + x[2]);
  });
}

ValueId apply_batch_norm(Convert& c, ValueId mean, ValueId variance, double epsilon) {
  const std::vector<ValueId> operands{c.input(0), per_channel(c, c.input(1)),
                                      per_channel(c, c.input(2)), per_channel(c, mean),
                                      per_channel(c, variance)};
  return c.b().elementwise("batch_norm", operands, [&](Args x) {
    const ir::DType t = wide(x[0].dtype());
    const auto in = [&](size_t i) { return ir::cast(t, x[i]); };
    const Expr factor = in(1) * rsqrt(in(4) + ir::make_float(t, epsilon));
    return ir::cast(x[0].dtype(), (in(0) - in(3)) * factor + in(2));
  });
}

std::vector<ValueId> train_batch_norm(Convert& c, double epsilon) {
  const double momentum = c.float_or("momentum", 0.9);
  std::vector<int64_t> axes(static_cast<size_t>(c.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + 1);
  const Moments now = moments(c, c.input(0), axes);
  const auto running = [&](size_t input, ValueId current) {
    const ValueId flat = c.b().reshape(current, c.shape(input));
    return c.b().elementwise("batch_norm.running", {c.input(input), flat}, [&](Args x) {
      const ir::DType t = x[1].dtype();
      return ir::cast(x[0].dtype(), ir::cast(t, x[0]) * ir::make_float(t, momentum) +
                                        x[1] * ir::make_float(t, 1 - momentum));
    });
  };
  const ValueId y = apply_batch_norm(c, now.mean, now.variance, epsilon);
  return {y, running(3, now.mean), running(4, now.variance)};
}

std::vector<ValueId> convert_batch_norm(Convert& c) {
  require_float(c.dtype(0));
  require_channels(c, 1, "the scale");
  require_channels(c, 2, "the bias");
  require_channels(c, 3, "the mean");
  require_channels(c, 4, "the variance");
  const double epsilon = c.float_or("epsilon", 1e-5);
  const bool training = c.opset() >= 14 ? c.int_or("training_mode", 0) != 0
                        : c.opset() < 7 ? c.int_or("is_test", 0) == 0
                                        : c.has_output(1);
  if (training && c.opset() < 14) refuse("training mode is not supported before opset 14");
  if (c.opset() < 9 && c.int_or("spatial", 1) == 0) refuse("'spatial' of 0 is not supported");
  if (training) return train_batch_norm(c, epsilon);
  bool known = true;
  for (size_t i = 1; i < 5; ++i) known = known && c.b().data(c.input(i));
  if (known) return {apply_known_batch_norm(c, epsilon)};
  return {apply_batch_norm(c, c.input(3), c.input(4), epsilon)};
}

// Zero mean and unit variance over the last dimension of a matrix-like view, back in the shape of x.
ValueId standardized(Convert& c, ValueId x, const Shape& view, double epsilon,
                     const std::string& label) {
  const int64_t length = view.back();
  const ir::DType t = c.b().dtype(x);
  const ValueId ones = filled(c, wide(t), {length}, 1.0);
  const ValueId zeros = filled(c, wide(t), {length}, 0.0);
  return c.b().compute(label, {c.b().reshape(x, view), ones, zeros},
                       [&](te::Builder& b, Tensors in) {
                         return te::layer_norm(b, label, in[0], in[1], in[2], epsilon);
                       });
}

ValueId scale_and_shift(Convert& c, const std::string& label, ValueId x, ValueId scale,
                        ValueId bias) {
  return c.b().elementwise(label, {x, scale, bias}, [](Args e) {
    const ir::DType t = wide(e[0].dtype());
    return ir::cast(e[0].dtype(), ir::cast(t, e[0]) * ir::cast(t, e[1]) + ir::cast(t, e[2]));
  });
}

std::vector<ValueId> convert_instance_norm(Convert& c) {
  require_float(c.dtype(0));
  require_channels(c, 1, "the scale");
  require_channels(c, 2, "the bias");
  const Shape shape = c.shape(0);
  const Shape view{shape[0], shape[1], product(shape, 2, shape.size())};
  const double epsilon = c.float_or("epsilon", 1e-5);
  const ValueId normal = standardized(c, c.input(0), view, epsilon, "instance_norm");
  const ValueId scale = along_axis(c, c.input(1), 1, 3), bias = along_axis(c, c.input(2), 1, 3);
  return {c.b().reshape(scale_and_shift(c, "instance_norm.scale", normal, scale, bias), shape)};
}

std::vector<ValueId> convert_group_norm(Convert& c) {
  require_float(c.dtype(0));
  if (c.rank(0) < 2) refuse("an input of {} dimensions has no channels", c.rank(0));
  const Shape shape = c.shape(0);
  const int64_t groups = c.int_or("num_groups", 0);
  if (groups < 1 || shape[1] % groups != 0) {
    refuse("{} channels do not divide into {} groups", shape[1], groups);
  }
  // Scale and bias belong to groups in opset 18 and to channels from 21 on.
  const int64_t parts = c.opset() < 21 ? groups : shape[1];
  const Shape rows{shape[0], groups,
                   count_elements(shape) / std::max<int64_t>(shape[0] * groups, 1)};
  const Shape view{shape[0], parts, count_elements(shape) / std::max<int64_t>(shape[0] * parts, 1)};
  if (c.shape(1) != Shape{parts} || c.shape(2) != Shape{parts}) {
    refuse("scale and bias must have {} elements", parts);
  }
  const double epsilon = c.float_or("epsilon", 1e-5);
  const ValueId normal =
      c.b().reshape(standardized(c, c.input(0), rows, epsilon, "group_norm"), view);
  const ValueId scale = along_axis(c, c.input(1), 1, 3), bias = along_axis(c, c.input(2), 1, 3);
  return {c.b().reshape(scale_and_shift(c, "group_norm.scale", normal, scale, bias), shape)};
}

// Scale or bias of a layer norm as a vector over all normalised elements.
ValueId inner_vector(Convert& c, size_t input, const Shape& inner) {
  const ValueId v = broadcast_to(c, "layer_norm.broadcast", c.input(input),
                                 broadcast_shapes({c.shape(input), inner}));
  if (c.b().shape(v) != inner) refuse("input {} does not fit the normalised dimensions", input);
  return c.b().reshape(v, {count_elements(inner)});
}

std::vector<ValueId> convert_layer_norm(Convert& c) {
  require_float(c.dtype(0));
  const Shape shape = c.shape(0);
  const auto axis = static_cast<size_t>(Convert::axis(c.int_or("axis", -1), c.rank(0)));
  const double epsilon = c.float_or("epsilon", 1e-5);
  const Shape inner(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  const int64_t length = count_elements(inner);
  if (count_elements(shape) == 0) refuse("an input without elements");
  const ValueId rows = c.b().reshape(c.input(0), {product(shape, 0, axis), length});
  const ValueId scale = inner_vector(c, 1, inner);
  const ValueId bias =
      c.has_input(2) ? inner_vector(c, 2, inner) : filled(c, c.dtype(1), {length}, 0.0);
  const ValueId y =
      c.b().compute("layer_norm", {rows, scale, bias}, [&](te::Builder& b, Tensors in) {
        return te::layer_norm(b, "layer_norm", in[0], in[1], in[2], epsilon);
      });
  std::vector<ValueId> out{c.b().reshape(y, shape)};
  if (!c.has_output(1) && !c.has_output(2)) return out;
  std::vector<int64_t> axes(shape.size() - axis);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(axis));
  const Moments m = moments(c, c.input(0), axes);
  out.push_back(m.mean);
  out.push_back(c.b().elementwise("layer_norm.inverse", {m.variance},
                                  [&](Args x) { return rsqrt(x[0] + number(x[0], epsilon)); }));
  return out;
}

// The type of the result is the scale's.
std::vector<ValueId> convert_rms_norm(Convert& c) {
  require_float(c.dtype(0));
  require_float(c.dtype(1));
  const Shape shape = c.shape(0);
  const auto axis = static_cast<size_t>(Convert::axis(c.int_or("axis", -1), c.rank(0)));
  if (count_elements(shape) == 0) refuse("an input without elements");
  if (broadcast_shapes({c.shape(1), shape}) != shape) refuse("the scale does not fit the input");
  const double epsilon = c.float_or("epsilon", 1e-5);
  const auto count = static_cast<double>(product(shape, axis, shape.size()));
  std::vector<int64_t> axes(shape.size() - axis);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(axis));
  const ir::DType t = wide(c.dtype(0)), result = c.dtype(1);
  return {c.b().compute("rms_norm", {c.input(0), c.input(1)}, [&](te::Builder& b, Tensors in) {
    const te::Tensor squares = te::elementwise(b, "rms_norm.squares", {in[0]}, [&](Args x) {
      return ir::cast(t, x[0]) * ir::cast(t, x[0]);
    });
    const te::Tensor sum =
        te::reduce_dims(b, "rms_norm.sum", squares, ir::BinaryOp::kAdd, axes, true);
    const te::Tensor inverse = te::elementwise(b, "rms_norm.inverse", {sum}, [&](Args x) {
      return rsqrt(x[0] / number(x[0], count) + number(x[0], epsilon));
    });
    return te::elementwise(b, "rms_norm", {in[0], inverse, in[1]}, [&](Args x) {
      const Expr normal = ir::cast(t, x[0]) * x[1];
      return ir::cast(result, normal * ir::cast(t, x[2]));
    });
  })};
}

std::vector<ValueId> convert_mean_variance_norm(Convert& c) {
  require_float(c.dtype(0));
  const auto axes = normalized_axes(c.ints_or("axes", {0, 2, 3}), c.rank(0));
  const Moments m = moments(c, c.input(0), axes);
  return {c.b().elementwise("mean_variance_norm", {c.input(0), m.mean, m.variance}, [](Args x) {
    const Expr spread = ir::call(ir::Intrinsic::kSqrt, {x[2]}) + number(x[2], 1e-9);
    return ir::cast(x[0].dtype(), (ir::cast(x[1].dtype(), x[0]) - x[1]) / spread);
  })};
}

std::vector<ValueId> convert_lp_norm(Convert& c) {
  require_float(c.dtype(0));
  const int64_t axis = Convert::axis(c.int_or("axis", -1), c.rank(0));
  const int64_t p = c.int_or("p", 2);
  if (p != 1 && p != 2) refuse("'p' is {}; 1 and 2 are defined", p);
  const ir::DType t = c.dtype(0);
  return {c.b().compute("lp_norm", {c.input(0)}, [&](te::Builder& b, Tensors in) {
    const te::Tensor powers = te::elementwise(b, "lp_norm.power", {in[0]}, [&](Args x) {
      const Expr v = ir::cast(wide(t), x[0]);
      return p == 2 ? v * v : ir::call(ir::Intrinsic::kAbs, {v});
    });
    const te::Tensor sum =
        te::reduce_dims(b, "lp_norm.sum", powers, ir::BinaryOp::kAdd, {axis}, true);
    return te::elementwise(b, "lp_norm", {in[0], sum}, [&](Args x) {
      const Expr norm = p == 2 ? ir::call(ir::Intrinsic::kSqrt, {x[1]}) : x[1];
      const Expr zero = number(norm, 0);
      return ir::cast(t, ir::select(ir::eq(norm, zero), zero, ir::cast(wide(t), x[0]) / norm));
    });
  })};
}

constexpr Row kNormRows[] = {
    {"", "BatchNormalization", 6, convert_batch_norm},
    {"", "GroupNormalization", 18, convert_group_norm},
    {"", "InstanceNormalization", 6, convert_instance_norm},
    {"", "LayerNormalization", 17, convert_layer_norm},
    {"", "LpNormalization", 1, convert_lp_norm},
    {"", "MeanVarianceNormalization", 9, convert_mean_variance_norm},
    {"", "RMSNormalization", 23, convert_rms_norm},
};

}  // namespace

std::span<const Row> rows_norm() { return kNormRows; }

}  // namespace tenon::onnx
