// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"

#include <fmt/format.h>

#include <cmath>

#include "support/check.h"

namespace tenon::zoo {
namespace {

Shape twice(const Shape& pad) {
  Shape both = pad;
  both.insert(both.end(), pad.begin(), pad.end());
  return both;
}

int64_t window(int64_t extent, int64_t kernel, int64_t stride, int64_t pad, bool ceil = false) {
  const int64_t room = extent + 2 * pad - kernel;
  TENON_CHECK(room >= 0) << "a window of " << kernel << " on " << extent;
  return (room + (ceil ? stride - 1 : 0)) / stride + 1;
}

double deviation(double gain, int64_t fan_in) {
  return gain / std::sqrt(static_cast<double>(fan_in));
}

Tensor pool(ModelBuilder& m, const std::string& type, const std::string& name, const Tensor& x,
            const PoolSpec& spec) {
  Shape shape = {x.shape[0], x.shape[1]};
  const Shape all(x.shape.size() - 2, 1);
  for (size_t d = 2; d < x.shape.size(); ++d) {
    shape.push_back(window(x.shape[d], spec.kernel, spec.stride, spec.pad, spec.ceil));
  }
  const auto filled = [&](int64_t v) { return Shape(all.size(), v); };
  return m.node(type, name, {x}, shape,
                {{"ceil_mode", int64_t{spec.ceil}},
                 {"kernel_shape", filled(spec.kernel)},
                 {"pads", twice(filled(spec.pad))},
                 {"strides", filled(spec.stride)}});
}

}  // namespace

ConvSpec square(int64_t out, int64_t k, int64_t s) {
  return {.out = out, .kernel = {k, k}, .stride = {s, s}, .pad = {k / 2, k / 2}};
}

Tensor conv(ModelBuilder& m, const std::string& name, const Tensor& x, const ConvSpec& spec) {
  Shape weight = {spec.out, x.shape[1] / spec.groups};
  Shape shape = {x.shape[0], spec.out};
  for (size_t d = 0; d < spec.kernel.size(); ++d) {
    weight.push_back(spec.kernel[d]);
    shape.push_back(window(x.shape[d + 2], spec.kernel[d], spec.stride[d], spec.pad[d]));
  }
  const int64_t fan_in = elements(weight) / spec.out;
  std::vector<Tensor> inputs = {x,
                                m.weight(name + ".weight", weight, deviation(spec.gain, fan_in))};
  if (spec.bias) {
    inputs.push_back(m.spread(name + ".bias", {spec.out}, 0, 0.1));
  }
  return m.node("Conv", name, inputs, shape,
                {{"dilations", Shape(spec.kernel.size(), 1)},
                 {"group", spec.groups},
                 {"kernel_shape", spec.kernel},
                 {"pads", twice(spec.pad)},
                 {"strides", spec.stride}});
}

Tensor batch_norm(ModelBuilder& m, const std::string& name, const Tensor& x, double scale) {
  const Shape channels = {x.shape[1]};
  const Tensor factor = m.spread(name + ".weight", channels, scale, 0.2 * scale);
  const Tensor offset = m.spread(name + ".bias", channels, 0, 0.1);
  const Tensor mean = m.statistic(name + ".running_mean", channels, 0, 0.1);
  const Tensor variance = m.statistic(name + ".running_var", channels, 1, 0.2);
  return m.node("BatchNormalization", name, {x, factor, offset, mean, variance}, x.shape,
                {{"epsilon", 1e-5}, {"momentum", 0.9}});
}

Tensor unary(ModelBuilder& m, const std::string& type, const std::string& name, const Tensor& x) {
  return m.node(type, name, {x}, x.shape);
}

Tensor binary(ModelBuilder& m, const std::string& type, const std::string& name, const Tensor& a,
              const Tensor& b) {
  return m.node(type, name, {a, b}, a.shape);
}

Tensor relu(ModelBuilder& m, const std::string& name, const Tensor& x) {
  return unary(m, "Relu", name, x);
}

Tensor relu6(ModelBuilder& m, const std::string& name, const Tensor& x) {
  return m.node("Clip", name, {x, m.scalar(name + ".min", 0), m.scalar(name + ".max", 6)}, x.shape);
}

Tensor silu(ModelBuilder& m, const std::string& name, const Tensor& x) {
  return binary(m, "Mul", name, x, unary(m, "Sigmoid", name, x));
}

Tensor max_pool(ModelBuilder& m, const std::string& name, const Tensor& x, const PoolSpec& spec) {
  return pool(m, "MaxPool", name, x, spec);
}

Tensor average_pool(ModelBuilder& m, const std::string& name, const Tensor& x,
                    const PoolSpec& spec) {
  return pool(m, "AveragePool", name, x, spec);
}

Tensor global_average_pool(ModelBuilder& m, const std::string& name, const Tensor& x) {
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  return m.node("GlobalAveragePool", name, {x}, shape);
}

Tensor flatten(ModelBuilder& m, const std::string& name, const Tensor& x) {
  return m.node("Flatten", name, {x}, {x.shape[0], elements(x.shape) / x.shape[0]},
                {{"axis", int64_t{1}}});
}

Tensor concat(ModelBuilder& m, const std::string& name, const std::vector<Tensor>& xs,
              int64_t axis) {
  Shape shape = xs[0].shape;
  for (size_t i = 1; i < xs.size(); ++i) {
    shape[static_cast<size_t>(axis)] += xs[i].shape[static_cast<size_t>(axis)];
  }
  return m.node("Concat", name, xs, shape, {{"axis", axis}});
}

Tensor linear(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t out, double gain) {
  const int64_t in = x.shape[1];
  const Tensor weight = m.weight(name + ".weight", {out, in}, deviation(gain, in));
  const Tensor bias = m.spread(name + ".bias", {out}, 0, 0.1);
  return m.node("Gemm", name, {x, weight, bias}, {x.shape[0], out},
                {{"alpha", 1.0}, {"beta", 1.0}, {"transB", int64_t{1}}});
}

Tensor dense(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t out, double gain) {
  const int64_t in = x.shape.back();
  Shape shape = x.shape;
  shape.back() = out;
  const Tensor weight = m.weight(name + ".weight", {in, out}, deviation(gain, in));
  const Tensor bias = m.spread(name + ".bias", {out}, 0, 0.1);
  const Tensor product = m.node("MatMul", name, {x, weight}, shape);
  return m.node("Add", name, {bias, product}, shape);
}

Tensor reshape(ModelBuilder& m, const std::string& name, const Tensor& x, const Shape& shape) {
  return m.node("Reshape", name, {x, m.ints(name + ".shape", shape)}, shape);
}

Tensor transpose(ModelBuilder& m, const std::string& name, const Tensor& x, const Shape& perm) {
  Shape shape;
  for (const int64_t axis : perm) {
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
  }
  return m.node("Transpose", name, {x}, shape, {{"perm", perm}});
}

Tensor select(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t axis,
              int64_t index) {
  Shape shape = x.shape;
  shape.erase(shape.begin() + axis);
  return m.node("Gather", name, {x, m.int_scalar(name + ".index", index)}, shape, {{"axis", axis}});
}

void classify(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t classes) {
  const Tensor pooled = global_average_pool(m, "avgpool", x);
  m.output(linear(m, name, flatten(m, "flatten", pooled), classes), "logits");
}

}  // namespace tenon::zoo
