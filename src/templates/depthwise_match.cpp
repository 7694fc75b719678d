// SPDX-License-Identifier: Apache-2.0
#include "templates/depthwise_match.h"

namespace tenon::templates {

namespace {

// The index is the output channel, give or take axes of one element.
bool is_channel(const ir::Expr& index, const te::ComputeOp& op) {
  const arith::Linear l = arith::to_linear(index);
  if (l.constant != 0 || l.coefficient(op.axes[1].var.node()) != 1) return false;
  for (const te::Axis& a : op.reduce_axes) {
    if (a.extent > 1 && l.coefficient(a.var.node()) != 0) return false;
  }
  return l.is_affine();
}

}  // namespace

std::optional<Depthwise> match_depthwise(const te::ComputeDag& dag) {
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() < 3 || !parts->x.affine) return std::nullopt;
  Depthwise d{*chain, parts->x.tensor, parts->w.tensor, find_padding(dag, parts->x.tensor, true)};
  d.rank = op.axes.size() - 2;
  d.w_kernel = d.w.rank() - d.rank;
  if (op.reduce_axes.size() < d.rank || d.x.rank() != op.axes.size() || d.w.rank() <= d.rank)
    return std::nullopt;
  if (!is_channel(parts->x.indices[1], op) || plain_axis(parts->w.indices[0], op) != size_t{1})
    return std::nullopt;
  for (size_t i = 1; i < d.w_kernel; ++i) {
    if (d.w.shape()[i] != 1) return std::nullopt;
  }
  for (size_t i = 0; i + d.rank < op.reduce_axes.size(); ++i) {
    if (op.reduce_axes[i].extent != 1) return std::nullopt;
  }
  if (d.padding) d.x = d.padding->source;
  if (dag.producer(d.x) != nullptr || dag.producer(d.w) != nullptr) return std::nullopt;
  return d;
}

int64_t taps_of(const Depthwise& d) {
  int64_t taps = 1;
  for (const te::Axis& a : d.chain.anchor->reduce_axes) taps *= a.extent;
  return taps;
}

void unroll_sum(space::Builder& b, space::StageRef acc, const te::ComputeOp& op, size_t first,
                size_t lanes) {
  if (b.refused()) return;
  const size_t spatial = b.now(acc).axes.size();
  std::vector<space::Loop> order;
  for (size_t r = 0; r < op.reduce_axes.size(); ++r) order.push_back(b.axis(acc, spatial + r));
  for (size_t d = first; d < op.axes.size(); ++d) {
    if (d != lanes) order.push_back(b.axis(acc, d));
  }
  const std::vector<space::Loop> unrolled = order;
  order.push_back(b.axis(acc, lanes));
  b.reorder(order);
  for (const space::Loop& l : unrolled) b.unroll(l);
  b.vectorize(order.back());
}

}  // namespace tenon::templates
