// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/rfactor.h"

#include <algorithm>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "schedule/bounds.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"
#include "te/limits.h"

namespace tenon::schedule {

Result<void> Rfactor::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const Stage& st = s[stage];
  if (!st.op->is_reduction()) return Illegal{.code = IllegalCode::kNoReduction, .stage = stage.id};
  if (st.loop(loop.id).kind != LoopKind::kReduce) {
    return Illegal{.code = IllegalCode::kNotReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  if (axis < 0 || axis > static_cast<int64_t>(st.op->axes.size())) {
    return Illegal{.code = IllegalCode::kNoSuchDim, .stage = stage.id, .value = axis};
  }
  const int64_t extent = st.loop(loop.id).extent;
  if (st.buffer->elements() >= te::kMaxElements / extent) {
    return Illegal{
        .code = IllegalCode::kTensorTooLarge, .stage = stage.id, .limit = te::kMaxElements - 1};
  }
  TENON_TRY(check_hosts_nothing(s, stage));
  if (st.place != Place::kAt) return {};
  // The new stage stands at the root, and so must all that it reads.
  State moved = s;
  apply(moved);
  return check_attachments(moved);
}

namespace {

// The op of the new stage: the old one with `loop` turned from a reduction into axis number `axis`.
te::OpRef factored_op(const Stage& st, LoopId loop, size_t axis, const std::string& name) {
  arith::Ranges ranges;
  const StageBounds sb = whole_bounds(st, ranges);
  auto rf = std::make_shared<te::ComputeOp>();
  ir::VarMap map;
  std::vector<int64_t> shape;
  const size_t rank = st.op->axes.size();
  for (size_t d = 0; d <= rank; ++d) {
    if (d == axis) {
      const size_t l = static_cast<size_t>(loop);
      rf->axes.push_back({sb.vars[l], sb.extents[l]});
      shape.push_back(sb.extents[l]);
    }
    if (d == rank) break;
    const te::Axis& a = st.op->axes[d];
    rf->axes.push_back({ir::Var(a.var.name()), a.extent});
    map[a.var.node()] = rf->axes.back().var;
    shape.push_back(a.extent);
  }
  for (size_t d = 0; d < st.op->reduce_axes.size(); ++d) {
    map[st.op->reduce_axes[d].var.node()] = sb.values[rank + d];
  }
  for (const LoopId l : st.leaves) {
    if (st.loop(l).kind != LoopKind::kReduce || l == loop) continue;
    rf->reduce_axes.push_back(
        {sb.vars[static_cast<size_t>(l)], sb.extents[static_cast<size_t>(l)]});
  }
  if (!rf->reduce_axes.empty()) rf->combiner = st.op->combiner;
  rf->output = ir::Buffer::make(name, st.buffer.dtype(), shape);
  ir::Expr body = ir::substitute(st.op->body, map);
  for (const ir::Expr& g : sb.guards) {
    const bool spatial = std::any_of(sb.spatial_guards.begin(), sb.spatial_guards.end(),
                                     [&](const ir::Expr& x) { return x.same_as(g); });
    if (!spatial) body = ir::select(g, body, ir::identity_of(*st.op->combiner, body.dtype()));
  }
  rf->body = arith::simplify(body, rf->ranges());
  return rf;
}

// Where the new stage holds elements: where the old one does.
ir::Expr factored_holds(const Stage& st, const te::ComputeOp& rf, size_t axis) {
  if (!st.holds.defined()) return st.holds;
  ir::VarMap map;
  for (size_t d = 0; d < st.op->axes.size(); ++d) {
    map[st.op->axes[d].var.node()] = rf.axes[d < axis ? d : d + 1].var;
  }
  return ir::substitute(st.holds, map);
}

// What remains of the old stage: a reduction over the new axis, spatial loops as they were.
void reduce_over_axis(Stage& st, const ir::Buffer& rf, LoopId loop, size_t axis, int64_t extent) {
  auto op = std::make_shared<te::ComputeOp>(*st.op);
  const ir::Var v(st.loop_name(loop));
  std::vector<ir::Expr> indices;
  for (const te::Axis& a : op->axes) indices.push_back(a.var);
  indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(axis), v);
  op->body = ir::load(rf, indices);
  op->reduce_axes = {{v, extent}};
  st.op = op;
  const LoopId kept = static_cast<LoopId>(op->axes.size());
  bool placed = false;
  std::vector<LoopId> leaves;
  for (const LoopId l : st.leaves) {
    if (st.loop(l).kind == LoopKind::kSpatial) {
      leaves.push_back(l);
    } else if (!placed) {
      leaves.push_back(kept);
      placed = true;
    }
  }
  for (Loop& l : st.loops) {
    if (l.kind == LoopKind::kReduce)
      l = Loop{.extent = 1, .kind = LoopKind::kReduce, .leaf = false};
  }
  st.loop(kept).extent = extent;
  st.loop(kept).leaf = true;
  st.leaves = std::move(leaves);
  std::erase_if(st.relations,
                [&](const Relation& r) { return st.loop(r.one).kind == LoopKind::kReduce; });
  for (LoopId* l : {&st.init_at, &st.pipelined}) {
    if (*l >= 0 && st.loop(*l).kind == LoopKind::kReduce) *l = -1;
  }
  st.prefetches.clear();
}

}  // namespace

void Rfactor::apply(State& s) const {
  const size_t at = static_cast<size_t>(axis);
  Stage rf;
  rf.name = s.fresh_name(s[stage].name + ".rf");
  rf.op = factored_op(s[stage], loop.id, at, rf.name);
  rf.holds = factored_holds(s[stage], *rf.op, at);
  rf.buffer = rf.op->output;
  rf.layout = layout::Layout(rf.buffer.shape());
  reset_loops(rf);
  const ir::Buffer buffer = rf.buffer;
  reduce_over_axis(s.edit(stage.id), buffer, loop.id, at, rf.op->axes[at].extent);
  s.insert(std::move(rf), stage.id, true);
}

}  // namespace tenon::schedule
