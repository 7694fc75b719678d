// SPDX-License-Identifier: Apache-2.0
#include "templates/conv_match.h"

namespace tenon::templates {

namespace {

// The input channel c, or c + k / group * channels for a grouped convolution (c + k * channels for
// groups of one): the output channels of a group, 0 for one group, nothing for any other index.
std::optional<int64_t> group_of(const ir::Expr& channel, const te::ComputeOp& op) {
  const te::Axis& c = op.reduce_axes[0];
  if (channel.same_as(c.var)) return 0;
  const arith::Linear l = arith::to_linear(channel);
  const int64_t by_output = l.coefficient(op.axes[1].var.node());
  if (c.extent == 1 && l.terms.size() == 1 && l.constant == 0 && by_output == 1) return 1;
  if (l.terms.size() != 2 || l.constant != 0 || l.coefficient(c.var.node()) != 1)
    return std::nullopt;
  if (by_output == c.extent) return 1;
  for (const auto& [atom, factor] : l.terms) {
    const auto* b = atom.as<ir::Binary>();
    if (b == nullptr || b->op != ir::BinaryOp::kFloorDiv || factor != c.extent) continue;
    if (b->a.same_as(op.axes[1].var)) return ir::const_int(b->b);
  }
  return std::nullopt;
}

// w, or the constant of its shape that it is computed from element by element.
std::optional<te::Tensor> weights_of(const te::ComputeDag& dag, const te::Tensor& w) {
  const te::ComputeOp* op = dag.producer(w);
  if (op == nullptr) return w;
  std::optional<te::Tensor> found;
  if (!te::is_strictly_inlinable(*op)) return std::nullopt;
  for (const te::Access& a : te::accesses(*op)) {
    if (dag.producer(a.tensor) != nullptr) return std::nullopt;
    for (const te::Input& in : dag.inputs) {
      if (in.constant && in.tensor.same_as(a.tensor) && a.tensor.shape() == w.shape())
        found = a.tensor;
    }
  }
  return found;
}

}  // namespace

std::optional<Conv> match_conv(const te::ComputeDag& dag, bool scaled) {
  Conv c;
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  c.chain = *chain;
  const te::ComputeOp& op = *c.chain.anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() < 3 || op.reduce_axes.size() != op.axes.size() - 1)
    return std::nullopt;
  c.rank = op.axes.size() - 2;
  if (parts->x.indices.size() != op.axes.size() || parts->w.indices.size() != op.axes.size())
    return std::nullopt;
  c.scaled = dag.producer(parts->w.tensor);
  const auto weights = weights_of(dag, parts->w.tensor);
  if (!weights || (c.scaled != nullptr && !scaled)) return std::nullopt;
  c.weights = *weights;
  const size_t k = 1;
  const size_t reduce = op.axes.size();
  if (plain_axis(parts->w.indices[0], op) != k || plain_axis(parts->w.indices[1], op) != reduce)
    return std::nullopt;
  const auto group = group_of(parts->x.indices[1], op);
  if (plain_axis(parts->x.indices[0], op) != size_t{0} || !group) return std::nullopt;
  c.group = *group;
  c.pointwise = true;
  for (size_t d = 0; d < c.rank; ++d) {
    const te::Axis& at = op.axes[2 + d];
    const te::Axis& tap = op.reduce_axes[1 + d];
    if (!parts->w.indices[2 + d].same_as(tap.var)) return std::nullopt;
    const arith::Linear l = arith::to_linear(parts->x.indices[2 + d]);
    if (!l.is_affine() || l.terms.size() > 2 || l.coefficient(at.var.node()) < 1)
      return std::nullopt;
    c.pointwise =
        c.pointwise && tap.extent == 1 && l.coefficient(at.var.node()) == 1 && l.constant == 0;
  }
  c.padding = find_padding(dag, parts->x.tensor, true);
  c.x = c.padding ? c.padding->source : parts->x.tensor;
  c.w = parts->w.tensor;
  c.window = parts->x;
  c.like_output = stored_like_output(dag, c.chain);
  c.pointwise = c.pointwise && !c.padding && dag.producer(c.x) == nullptr;
  return dag.producer(c.x) == nullptr ? std::optional(c) : std::nullopt;
}

}  // namespace tenon::templates
