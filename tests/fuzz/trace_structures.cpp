// SPDX-License-Identifier: Apache-2.0
// Steps that belong together, so that deep combinations are reached which single random steps rarely make.
#include <algorithm>

#include "fuzz/trace_drawer.h"
#include "fuzz/trace_layouts.h"
#include "ir/visit.h"

namespace tenon::fuzz {
namespace {

using namespace schedule;  // NOLINT(google-build-using-namespace): every primitive is named here

std::vector<LoopRef> leaves_of(TraceDrawer& d, StageRef s, LoopKind kind) {
  std::vector<LoopRef> out;
  for (const LoopId l : d.stage(s).leaves) {
    if (d.stage(s).loop(l).kind == kind) {
      out.push_back({l});
    }
  }
  return out;
}

// Splits some loops of `s`; the parts are returned by level: outer, inner, innermost.
std::vector<std::vector<LoopRef>> split_levels(TraceDrawer& d, StageRef s, LoopKind kind) {
  std::vector<std::vector<LoopRef>> levels(3);
  for (const LoopRef l : leaves_of(d, s, kind)) {
    const int64_t extent = d.stage(s).loop(l.id).extent;
    const bool parts = d.rng.chance(0.25);
    const size_t depth = d.rng.chance(0.3) ? 0 : parts || d.rng.chance(0.7) ? 1 : 2;
    std::vector<int64_t> factors;
    for (size_t i = 0; i < depth; ++i) {
      factors.push_back(d.factor(extent));
    }
    const auto first = static_cast<LoopId>(d.stage(s).loops.size());
    if (depth == 0 || !d.take(Split{s, l, factors, parts && depth == 1})) {
      levels[static_cast<size_t>(d.rng.between(0, 2))].push_back(l);
      continue;
    }
    for (size_t i = 0; i <= depth; ++i) {
      levels[i].push_back({first + static_cast<LoopId>(i)});
    }
  }
  return levels;
}

void append(std::vector<LoopRef>& to, const std::vector<LoopRef>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Vectorises the innermost loop and unrolls some of those around it.
void mark_inner(TraceDrawer& d, StageRef s) {
  const std::vector<LoopId> leaves = d.stage(s).leaves;
  if (leaves.empty()) {
    return;
  }
  if (d.rng.chance(0.8)) {
    d.take(Vectorize{s, {leaves.back()}});
  }
  for (size_t i = leaves.size() - 1; i-- > 0 && d.rng.chance(0.5);) {
    if (d.stage(s).loop(leaves[i]).extent <= 8) {
      d.take(Unroll{s, {leaves[i]}});
    }
  }
}

// Multi-level tiling: spatial, spatial, reduction, spatial, as Ansor does, or any order of the levels.
void tile(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  if (s.id < 0) {
    return;
  }
  const auto spatial = split_levels(d, s, LoopKind::kSpatial);
  const auto reduce = split_levels(d, s, LoopKind::kReduce);
  std::vector<std::vector<LoopRef>> order{spatial[0], spatial[1], reduce[0],
                                          reduce[1],  spatial[2], reduce[2]};
  if (d.rng.chance(0.3)) {
    d.shuffle(order);
  }
  std::vector<LoopRef> loops;
  for (const auto& level : order) {
    append(loops, level);
  }
  d.take(Reorder{s, loops});
  if (d.rng.chance(0.4)) {
    d.take(Parallel{s, loops.empty() ? LoopRef{} : loops[0]});
  }
  mark_inner(d, s);
}

// The accumulators of a reduction in registers or a local tile: cache_write, a tiled copy, compute_at.
void accumulate_in_tile(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const bool registers = d.rng.chance(0.7);
  if (s.id < 0 || !d.take(CacheWrite{s, registers ? ir::Scope::kRegister : ir::Scope::kLocal})) {
    return;
  }
  const StageRef cache{static_cast<StageId>(d.state().size()) - 1};
  std::vector<LoopRef> outer;
  std::vector<LoopRef> inner;
  const std::vector<LoopRef> axes = leaves_of(d, s, LoopKind::kSpatial);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool last = i + 1 == axes.size();
    const auto first = static_cast<LoopId>(d.stage(s).loops.size());
    const int64_t f = std::min<int64_t>(d.factor(d.stage(s).loop(axes[i].id).extent),
                                        last ? 16 : d.rng.between(1, 4));
    const bool parts = !last && d.rng.chance(0.3);
    if ((last || d.rng.chance(0.6)) && d.take(Split{s, axes[i], {f}, parts})) {
      outer.push_back({first});
      inner.push_back({first + 1});
    } else {
      outer.push_back(axes[i]);
    }
  }
  std::vector<LoopRef> order = outer;
  append(order, inner);
  d.take(Reorder{s, order});
  if (!outer.empty()) {
    d.take(ComputeAt{cache, s, outer.back()});
  }
  for (size_t i = 0; i < inner.size(); ++i) {
    if (i + 1 == inner.size()) {
      d.take(Vectorize{s, inner[i]});
    } else {
      d.take(Unroll{s, inner[i]});
    }
  }
  std::vector<LoopRef> sum = leaves_of(d, cache, LoopKind::kReduce);
  const std::vector<LoopRef> own = leaves_of(d, cache, LoopKind::kSpatial);
  append(sum, own);
  d.take(Reorder{cache, sum});
  for (size_t i = 0; i < own.size(); ++i) {
    if (i + 1 == own.size() && d.rng.chance(0.8)) {
      d.take(Vectorize{cache, own[i]});
    } else {
      d.take(Unroll{cache, own[i]});
    }
  }
}

void inline_many(TraceDrawer& d) {
  const std::vector<StageId> order = d.state().order();
  for (const StageId id : order) {
    if (!d.state().stage(id).is_input() && d.rng.chance(0.6)) {
      d.take(ComputeInline{{id}});
    }
  }
}

// From the last stage to the first: each into a loop of its reader, or beside it.
void attach_many(TraceDrawer& d) {
  std::vector<StageId> order = d.state().order();
  std::reverse(order.begin(), order.end());
  for (const StageId id : order) {
    const Stage& s = d.state().stage(id);
    if (s.is_input() || s.place != Place::kRoot || d.rng.chance(0.3)) {
      continue;
    }
    const StageRef at = d.reader_of({id});
    if (at.id < 0) {
      continue;
    }
    const bool beside = d.stage(at).place == Place::kAt && d.rng.chance(0.5);
    d.take(beside ? ComputeAt{{id}, {d.stage(at).at_stage}, {d.stage(at).at_loop}}
                  : ComputeAt{{id}, at, d.leaf(at)});
  }
}

// A split reduction, one part of it turned into an axis that is then vectorised or parallel.
void factor_reduction(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  if (s.id < 0) {
    return;
  }
  const std::vector<LoopRef> reduce = leaves_of(d, s, LoopKind::kReduce);
  if (reduce.empty()) {
    return;
  }
  const LoopRef l = d.rng.pick(reduce);
  const auto first = static_cast<LoopId>(d.stage(s).loops.size());
  const bool parts = d.rng.chance(0.25);
  if (!d.take(Split{s, l, {d.factor(d.stage(s).loop(l.id).extent)}, parts})) {
    return;
  }
  const bool lanes = d.rng.chance(0.6);
  const auto rank = static_cast<int64_t>(d.stage(s).op->axes.size());
  if (!d.take(Rfactor{s, {first + (lanes ? 1 : 0)}, lanes ? rank : 0})) {
    return;
  }
  const StageRef rf{static_cast<StageId>(d.state().size()) - 1};
  if (lanes) {
    std::vector<LoopRef> order = leaves_of(d, rf, LoopKind::kReduce);
    append(order, {{static_cast<LoopId>(rank)}});
    d.take(Reorder{rf, order});
    d.take(Vectorize{rf, {static_cast<LoopId>(rank)}});
  } else {
    d.take(Parallel{rf, {0}});
  }
  if (d.rng.chance(0.5)) {
    d.take(ComputeAt{rf, s, d.leaf(s)});
  }
}

void fuse_outer(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  if (s.id < 0 || d.stage(s).leaves.size() < 2) {
    return;
  }
  std::vector<LoopRef> loops;
  for (const LoopId l : d.stage(s).leaves) {
    if (d.stage(s).loop(l).kind != LoopKind::kSpatial || (loops.size() >= 2 && d.rng.chance(0.4))) {
      break;
    }
    loops.push_back({l});
  }
  if (!d.take(Fuse{s, loops})) {
    return;
  }
  const LoopRef fused{static_cast<LoopId>(d.stage(s).loops.size()) - 1};
  const int64_t extent = d.stage(s).loop(fused.id).extent;
  if (d.rng.chance(0.5) && d.take(Split{s, fused, {d.factor(extent)}, d.rng.chance(0.4)})) {
    d.take(Parallel{s, {fused.id + 1}});
    d.take(Vectorize{s, {fused.id + 2}});
  } else {
    d.take(Parallel{s, fused});
  }
}

// A local copy of what a loop reads.
void cache_inputs(TraceDrawer& d) {
  const StageRef s = d.any_stage();
  const StageRef reader = d.reader_of(s);
  if (reader.id < 0 || !d.take(CacheRead{s, {reader}, ir::Scope::kLocal})) {
    return;
  }
  const StageRef copy{static_cast<StageId>(d.state().size()) - 1};
  if (d.rng.chance(0.5)) {
    d.take(LayoutReorder{copy, {1, 0}});
  }
  d.take(ComputeAt{copy, reader, d.leaf(reader)});
  mark_inner(d, copy);
}

// The intrinsic that multiplies what `op` does; null if none does.
const DotRow* dot_of(const te::ComputeOp& op) {
  const auto* m = op.body.as<ir::Binary>();
  const auto* a = m == nullptr ? nullptr : m->a.as<ir::Cast>();
  const auto* b = m == nullptr ? nullptr : m->b.as<ir::Cast>();
  for (const DotRow& r : dots()) {
    if (a == nullptr || b == nullptr || m->op != ir::BinaryOp::kMul || m->dtype != r.sum) continue;
    const ir::DType x = a->value.dtype();
    const ir::DType y = b->value.dtype();
    if ((x == r.a && y == r.b) || (x == r.b && y == r.a)) return &r;
  }
  return nullptr;
}

// Stores what `reader` reads at [.., k, .., j, ..] as [.., j, k % group].
void pack_operand(TraceDrawer& d, const ir::Load& read, const ir::Var& j, const ir::Var& k,
                  int64_t group) {
  const StageRef s{d.state().owner(read.buffer)};
  int64_t lane_dim = -1;
  int64_t sum_dim = -1;
  for (size_t i = 0; i < read.indices.size(); ++i) {
    if (read.indices[i].same_as(j)) lane_dim = static_cast<int64_t>(i);
    if (read.indices[i].same_as(k)) sum_dim = static_cast<int64_t>(i);
  }
  const auto rank = static_cast<int64_t>(read.indices.size());
  if (sum_dim < 0 || (lane_dim < 0 && sum_dim == rank - 1)) return;
  const int64_t size = read.buffer.shape()[static_cast<size_t>(sum_dim)];
  if (!d.take(LayoutSplit{s, sum_dim, {(size + group - 1) / group, group}})) return;
  lane_dim += lane_dim > sum_dim ? 1 : 0;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i <= rank; ++i) {
    if (i != lane_dim && i != sum_dim + 1) perm.push_back(i);
  }
  if (lane_dim >= 0) perm.push_back(lane_dim);
  perm.push_back(sum_dim + 1);
  d.take(LayoutReorder{s, perm});
}

// A product of narrow numbers by an intrinsic: operands packed, both loops split, moved inside and tensorised.
void dot_product(TraceDrawer& d) {
  std::vector<StageRef> products;
  for (const StageId id : d.state().order()) {
    const Stage& st = d.state().stage(id);
    if (!st.is_input() && st.place != Place::kInlined && dot_of(*st.op) != nullptr) {
      products.push_back({id});
    }
  }
  if (products.empty()) return;
  StageRef s = d.rng.pick(products);
  const DotRow* row = dot_of(*d.stage(s).op);
  if (d.rng.chance(0.4) &&
      d.take(CacheWrite{s, d.rng.chance(0.6) ? ir::Scope::kRegister : ir::Scope::kLocal})) {
    d.take(ComputeAt{{static_cast<StageId>(d.state().size()) - 1}, s, d.leaf(s)});
    s = {static_cast<StageId>(d.state().size()) - 1};
  }
  const std::vector<LoopRef> own = leaves_of(d, s, LoopKind::kSpatial);
  const std::vector<LoopRef> sum = leaves_of(d, s, LoopKind::kReduce);
  const size_t axes = d.stage(s).op->axes.size();
  if (own.empty() || sum.empty() || own.size() != axes ||
      sum.size() != d.stage(s).op->reduce_axes.size())
    return;
  LoopRef lanes = d.rng.chance(0.7) ? own.back() : d.rng.pick(own);
  LoopRef loop = d.rng.chance(0.7) ? sum.front() : d.rng.pick(sum);
  if (lanes.id >= static_cast<LoopId>(axes) || loop.id < static_cast<LoopId>(axes) ||
      loop.id >= static_cast<LoopId>(axes + sum.size())) {
    return;
  }
  const te::OpRef op = d.stage(s).op;
  const ir::Var j = op->axes[static_cast<size_t>(lanes.id)].var;
  const ir::Var k = op->reduce_axes[static_cast<size_t>(loop.id) - axes].var;
  ir::visit(op->body, [&](const ir::Expr& e) {
    if (const auto* l = e.as<ir::Load>()) pack_operand(d, *l, j, k, row->group);
  });
  const auto inner_part = [&](LoopRef l, int64_t factor) {
    const auto first = static_cast<LoopId>(d.stage(s).loops.size());
    return d.take(Split{s, l, {factor}, false}) ? LoopRef{first + 1} : l;
  };
  if (d.rng.chance(0.6)) lanes = inner_part(lanes, d.factor(d.stage(s).loop(lanes.id).extent));
  loop = inner_part(loop, row->group);
  std::vector<LoopRef> order;
  for (const LoopId l : d.stage(s).leaves) {
    if (l != lanes.id && l != loop.id) order.push_back({l});
  }
  append(order, {lanes, loop});
  d.take(Reorder{s, order});
  d.take(Tensorize{s, lanes, loop, row->dot});
}

// ---- layouts ---------------------------------------------------------------------------------

template <void (*kBuild)(TraceDrawer&, StageRef)>
void of_any(TraceDrawer& d) {
  kBuild(d, d.any_stage());
}

void any_layout(TraceDrawer& d) {
  static const std::vector<std::string_view> kNames = {
      "layout_split",  "layout_reorder",  "layout_fuse", "layout_pad",
      "layout_unfold", "layout_store_at", "cache_read",  "cache_write"};
  const std::string_view name = d.rng.pick(kNames);
  for (const Proposal& p : proposals()) {
    if (p.primitive == name) {
      d.take(p.draw(d));
    }
  }
}

// A convolution by another algorithm, where there is one.
void other_algorithm(TraceDrawer& d) {
  std::vector<Step> steps;
  for (const StageId id : d.state().order()) {
    for (const AlgorithmRow& row : d.algorithms_for({id})) {
      const Variant v{{id}, row.algorithm};
      if (v.check(d.state())) steps.emplace_back(v);
    }
  }
  if (!steps.empty()) d.take(d.rng.pick(steps));
}

constexpr Structure kLoopStructures[] = {
    {"tile", 10, tile},
    {"accumulate_in_tile", 8, accumulate_in_tile},
    {"inline_many", 3, inline_many},
    {"attach_many", 7, attach_many},
    {"factor_reduction", 5, factor_reduction},
    {"fuse_outer", 4, fuse_outer},
    {"cache_inputs", 4, cache_inputs},
    {"dot_product", 12, dot_product},
};

constexpr Structure kLayoutStructures[] = {
    {"block_dim", 4, of_any<block_dim>},
    {"pad_for_reader", 3, of_any<pad_for_reader>},
    {"unfold_for_reader", 3, of_any<unfold_for_reader>},
    {"any_layout", 8, any_layout},
    {"other_algorithm", 8, other_algorithm},
};

}  // namespace

std::span<const Structure> loop_structures() { return kLoopStructures; }
std::span<const Structure> layout_structures() { return kLayoutStructures; }

}  // namespace tenon::fuzz
