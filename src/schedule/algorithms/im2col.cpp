// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/im2col.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {
namespace {

using ir::Expr;
using te::Axis;

bool uses(const ir::Load& read, const Axis& a) {
  return std::any_of(read.indices.begin(), read.indices.end(),
                     [&](const Expr& i) { return ir::uses_var(i, a.var.node()); });
}

std::vector<size_t> used(const ir::Load& read, const std::vector<Axis>& axes) {
  std::vector<size_t> out;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (uses(read, axes[d])) out.push_back(d);
  }
  return out;
}

}  // namespace

std::optional<Patches> find_patches(const State& s, const te::ComputeOp& op) {
  const auto both = find_operands(op);
  if (!both) return std::nullopt;
  Patches p{*both, {}, {}, 1};
  if (!is_constant(s, *p.w)) std::swap(p.x, p.w);
  if (!is_constant(s, *p.w)) return std::nullopt;
  p.axes = used(*p.x, op.axes);
  p.reduce = used(*p.x, op.reduce_axes);
  for (const size_t d : p.axes) p.elements *= static_cast<double>(op.axes[d].extent);
  for (const size_t d : p.reduce) p.elements *= static_cast<double>(op.reduce_axes[d].extent);
  // Of a plain matrix, every index is an axis: there is nothing to gather.
  const bool plain = std::all_of(p.x->indices.begin(), p.x->indices.end(),
                                 [](const Expr& i) { return i.as<ir::VarNode>() != nullptr; });
  return plain ? std::nullopt : std::optional(p);
}

void compute_by_im2col(State& s, StageId stage) {
  const te::OpRef op = s.stage(stage).op;
  const Patches p = *find_patches(s, *op);
  Shape shape;
  ir::VarMap map;
  std::vector<Expr> at;
  const auto add = [&](const Axis& a) {
    map[a.var.node()] = shape.add(a.var.name(), a.extent);
    at.emplace_back(a.var);
  };
  for (const size_t d : p.axes) add(op->axes[d]);
  for (const size_t d : p.reduce) add(op->reduce_axes[d]);
  std::vector<Expr> from;
  for (const Expr& i : p.x->indices) from.push_back(ir::substitute(i, map));
  const ir::Buffer patches = add_stage(s, stage, "p", shape, ir::load(p.x->buffer, from));
  const bool first = op->body.as<ir::Binary>()->a.as<ir::Load>() == p.x;
  const Expr x = ir::load(patches, at), w = ir::load(p.w->buffer, p.w->indices);
  Stage& st = s.edit(stage);
  auto now = std::make_shared<te::ComputeOp>(*op);
  now->body = first ? x * w : w * x;
  st.op = now;
  st.error_factor *= row_of(Algorithm::kIm2col).error_factor;
}

}  // namespace tenon::schedule
