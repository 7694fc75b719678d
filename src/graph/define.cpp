// SPDX-License-Identifier: Apache-2.0
#include "graph/define.h"

#include <fmt/format.h>

#include "te/limited.h"
#include "te/limits.h"
#include "te/quantize.h"
#include "te/splice.h"

namespace tenon::graph {
namespace {

// Sums of 16-bit floats are held in f32; the node's output has the type of its input.
te::Tensor narrowed(te::Builder& b, const std::string& name, const te::Tensor& sum,
                    ir::DType like) {
  if (!like.is_float() || sum.dtype() == like) return sum;
  return te::elementwise(b, name + ".cast", {sum},
                         [&](std::span<const ir::Expr> in) { return ir::cast(like, in[0]); });
}

struct Append {
  te::Builder& b;
  const std::string& name;
  std::span<const te::Tensor> in;

  std::vector<te::Tensor> operator()(const Conv& c) const {
    return {narrowed(b, name, te::conv(b, name, in[0], in[1], c.params), in[0].dtype())};
  }
  std::vector<te::Tensor> operator()(const ConvTranspose& c) const {
    return {narrowed(b, name, te::conv_transpose(b, name, in[0], in[1], c.params, c.output_pad),
                     in[0].dtype())};
  }
  std::vector<te::Tensor> operator()(const MatMul& m) const {
    // A third input says how many of the products are summed.
    const te::Tensor sum =
        in.size() > 2 ? te::limited_matmul(b, name, in[0], in[1], m.trans_a, m.trans_b, in[2])
                      : te::batch_matmul(b, name, in[0], in[1], m.trans_a, m.trans_b);
    return {narrowed(b, name, sum, in[0].dtype())};
  }
  std::vector<te::Tensor> operator()(const Transpose& t) const {
    return {te::transpose(b, name, in[0], t.perm)};
  }
  std::vector<te::Tensor> operator()(const Reshape& r) const {
    return {te::reshape(b, name, in[0], r.shape)};
  }
  std::vector<te::Tensor> operator()(const Quantize& q) const {
    return {te::quantize(b, name, in[0], in[1], zero(), q.to, q.precision)};
  }
  std::vector<te::Tensor> operator()(const Dequantize& q) const {
    return {te::dequantize(b, name, in[0], in[1], zero(), q.to)};
  }
  te::Tensor zero() const { return in.size() > 2 ? in[2] : te::Tensor(); }
  std::vector<te::Tensor> operator()(const Compute& c) const {
    // The op that makes the only output carries the name, the others are its stages.
    return te::splice(b, *c.dag, in, [&](const te::ComputeOp& op) {
      const bool last = c.dag->outputs.size() == 1 && c.dag->outputs[0].same_as(op.output);
      if (last) return name;
      const size_t dot = op.name().find('.');
      return name + "." + (dot == std::string::npos ? op.name() : op.name().substr(dot + 1));
    });
  }
};

// Elements that are moved, not computed, cannot be expressed in te when there are none.
std::vector<ValueType> infer_reshape(const Value& x, const Shape& shape) {
  int64_t n = 1;
  for (const int64_t e : shape) n *= e;
  if (n != x.elements()) {
    throw UserError(
        fmt::format("{} has {} elements, the new shape has {}", x.name, x.elements(), n));
  }
  return {{x.dtype, shape}};
}

}  // namespace

std::vector<te::Tensor> append(te::Builder& b, const std::string& name, const Op& op,
                               std::span<const te::Tensor> inputs) {
  return std::visit(Append{b, name, inputs}, op);
}

namespace {

te::ComputeDag define_op(const Graph& g, const Op& op, std::span<const ValueId> inputs,
                         const std::string& label) {
  te::Builder b;
  std::vector<te::Tensor> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = g.value(inputs[i]);
    const std::string name = "x" + std::to_string(i);
    in.push_back(v.constant() ? b.constant(name, v.dtype, v.shape)
                              : b.input(name, v.dtype, v.shape));
  }
  for (const te::Tensor& t : append(b, label, op, in)) b.output(t);
  return b.finish(label);
}

}  // namespace

te::ComputeDag define(const Graph& g, const Node& node) {
  return define_op(g, node.op, node.inputs, node.label);
}

std::vector<ValueType> infer(const Graph& g, const Op& op, std::span<const ValueId> inputs) {
  if (const auto* r = std::get_if<Reshape>(&op)) return infer_reshape(g.value(inputs[0]), r->shape);
  std::vector<te::Tensor> outputs;
  if (const auto* c = std::get_if<Compute>(&op)) {
    outputs = c->dag->outputs;
  } else {
    outputs = define_op(g, op, inputs, "op").outputs;
  }
  std::vector<ValueType> types;
  for (const te::Tensor& t : outputs) types.push_back({t.dtype(), t.shape()});
  return types;
}

}  // namespace tenon::graph
