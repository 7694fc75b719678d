// SPDX-License-Identifier: Apache-2.0
#include "zoo/attention.h"

#include <cmath>

#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

Tensor mean(ModelBuilder& m, const std::string& name, const Tensor& x) {
  Shape shape = x.shape;
  shape.back() = 1;
  return m.node("ReduceMean", name, {x}, shape, {{"axes", Shape{-1}}, {"keepdims", int64_t{1}}});
}

}  // namespace

Tensor layer_norm(ModelBuilder& m, const std::string& name, const Tensor& x, double epsilon) {
  const Shape width = {x.shape.back()};
  const Tensor weight = m.spread(name + ".weight", width, 1, 0.2);
  const Tensor bias = m.spread(name + ".bias", width, 0, 0.1);
  if (m.opset() >= 17) {
    return m.node("LayerNormalization", name, {x, weight, bias}, x.shape,
                  {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  }
  const Tensor centered = binary(m, "Sub", name, x, mean(m, name, x));
  const Tensor squares = binary(m, "Pow", name, centered, m.scalar(name + ".two", 2));
  const Tensor variance = mean(m, name + ".variance", squares);
  const Tensor padded =
      binary(m, "Add", name + ".epsilon", variance, m.scalar(name + ".epsilon", epsilon));
  const Tensor deviation = unary(m, "Sqrt", name, padded);
  const Tensor normal = binary(m, "Div", name, centered, deviation);
  return binary(m, "Add", name, binary(m, "Mul", name, normal, weight), bias);
}

Tensor gelu(ModelBuilder& m, const std::string& name, const Tensor& x) {
  const Tensor scaled = binary(m, "Div", name, x, m.scalar(name + ".sqrt2", std::sqrt(2.0)));
  const Tensor shifted =
      binary(m, "Add", name, unary(m, "Erf", name, scaled), m.scalar(name + ".one", 1));
  const Tensor product = binary(m, "Mul", name, x, shifted);
  return binary(m, "Mul", name + ".half", product, m.scalar(name + ".half", 0.5));
}

Tensor attend(ModelBuilder& m, const std::string& name, const Tensor& q, const Tensor& k_transposed,
              const Tensor& v, const Tensor& mask) {
  const int64_t batch = q.shape[0];
  const int64_t heads = q.shape[1];
  const int64_t tokens = q.shape[2];
  const int64_t depth = q.shape[3];
  Tensor scores =
      m.node("MatMul", name + ".scores", {q, k_transposed}, {batch, heads, tokens, tokens});
  scores = binary(m, "Div", name + ".scores", scores,
                  m.scalar(name + ".sqrt_d", std::sqrt(static_cast<double>(depth))));
  if (!mask.name.empty()) {
    scores = binary(m, "Add", name + ".mask", scores, mask);
  }
  const Tensor shares = m.node("Softmax", name, {scores}, scores.shape, {{"axis", int64_t{-1}}});
  const Tensor mixed = m.node("MatMul", name + ".context", {shares, v}, q.shape);
  const Tensor ordered = transpose(m, name + ".context", mixed, {0, 2, 1, 3});
  return reshape(m, name + ".context", ordered, {batch, tokens, heads * depth});
}

}  // namespace tenon::zoo
