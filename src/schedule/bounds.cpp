// SPDX-License-Identifier: Apache-2.0
#include "schedule/bounds.h"

#include <algorithm>

#include "arith/linear.h"
#include "arith/simplify.h"
#include "ir/build.h"
#include "schedule/region.h"
#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

// Real extents of split and fused parts, from those of the axes. A part never exceeds what is left to split.
void pass_down_extents(const Stage& st, StageBounds& sb) {
  for (const Relation& r : st.relations) {
    const auto extent = [&](LoopId l) -> int64_t& { return sb.extents[static_cast<size_t>(l)]; };
    if (r.kind == RelationKind::kFuse) {
      int64_t product = 1;
      for (const LoopId l : r.many) product *= extent(l);
      extent(r.one) = product;
    } else if (r.kind == RelationKind::kParts) {
      const int64_t n = std::min(r.factors[0], extent(r.one));
      extent(r.many[0]) = n;
      extent(r.many[1]) = arith::ceil_div(extent(r.one), n);
    } else {
      int64_t left = extent(r.one);
      for (size_t j = r.many.size() - 1; j > 0; --j) {
        const int64_t e = std::min(r.factors[j - 1], left);
        extent(r.many[j]) = e;
        left = arith::ceil_div(left, e);
      }
      extent(r.many[0]) = left;
    }
  }
}

class ValueBuilder {
 public:
  ValueBuilder(const Stage& st, const StageBounds& sb, const arith::Ranges& ranges,
               std::vector<ir::Expr>& values)
      : st_(st), sb_(sb), ranges_(ranges), values_(values) {}

  void run() {
    for (auto r = st_.relations.rbegin(); r != st_.relations.rend(); ++r) {
      switch (r->kind) {
        case RelationKind::kSplit:
          if (!value(r->one).defined()) join_split(*r);
          break;
        case RelationKind::kParts:
          if (!value(r->one).defined()) join_parts(*r);
          break;
        case RelationKind::kFuse:
          take_apart(*r);
          break;
      }
    }
  }

 private:
  ir::Expr& value(LoopId l) { return values_[static_cast<size_t>(l)]; }
  int64_t extent(LoopId l) const { return sb_.extents[static_cast<size_t>(l)]; }

  void join_split(const Relation& r) {
    int64_t stride = 1;
    ir::Expr sum(0);
    for (size_t j = r.many.size(); j-- > 0;) {
      sum = value(r.many[j]) * ir::Expr(stride) + sum;
      stride *= extent(r.many[j]);
    }
    value(r.one) = sum;
  }

  void join_parts(const Relation& r) {
    const int64_t n = extent(r.many[0]);
    const int64_t q = extent(r.one) / n;
    const int64_t rem = extent(r.one) % n;
    const ir::Expr outer = value(r.many[0]);
    const ir::Expr inner = value(r.many[1]);
    value(r.one) = outer * ir::Expr(q) + (rem == 0 ? ir::Expr(0) : ir::min(outer, rem)) + inner;
  }

  void take_apart(const Relation& r) {
    int64_t stride = 1;
    for (size_t j = r.many.size(); j-- > 0;) {
      if (!value(r.many[j]).defined()) {
        ir::Expr v = ir::floor_div(value(r.one), stride);
        if (j > 0) v = ir::floor_mod(v, extent(r.many[j]));
        value(r.many[j]) = arith::simplify(v, ranges_);
      }
      stride *= extent(r.many[j]);
    }
  }

  const Stage& st_;
  const StageBounds& sb_;
  const arith::Ranges& ranges_;
  std::vector<ir::Expr>& values_;
};

// A guard for each split whose parts run through more than the loop.
void guard_splits(const Stage& st, StageBounds& sb) {
  const auto extent = [&](LoopId l) { return sb.extents[static_cast<size_t>(l)]; };
  const auto value = [&](LoopId l) { return sb.values[static_cast<size_t>(l)]; };
  for (auto r = st.relations.rbegin(); r != st.relations.rend(); ++r) {
    ir::Expr guard;
    if (r->kind == RelationKind::kSplit) {
      int64_t product = 1;
      for (const LoopId l : r->many) product *= extent(l);
      if (product > extent(r->one)) guard = ir::lt(value(r->one), extent(r->one));
    } else if (r->kind == RelationKind::kParts) {
      const int64_t q = extent(r->one) / extent(r->many[0]);
      const int64_t rem = extent(r->one) % extent(r->many[0]);
      if (rem != 0) {
        guard = ir::logical_or(ir::lt(value(r->many[1]), q), ir::lt(value(r->many[0]), rem));
      }
    }
    if (!guard.defined()) continue;
    sb.guards.push_back(guard);
    if (st.loop(r->one).kind == LoopKind::kSpatial) sb.spatial_guards.push_back(guard);
  }
}

// Extents, variables and values of all loops, from the extents of the axes. Variables that are there already stay.
void fill_loops(const Stage& st, StageBounds& sb, arith::Ranges& ranges, BoundsFor purpose) {
  sb.extents.assign(st.loops.size(), 1);
  for (size_t d = 0; d < sb.axes.size(); ++d) sb.extents[d] = sb.axes[d].extent;
  for (size_t d = 0; d < st.op->reduce_axes.size(); ++d) {
    sb.extents[sb.axes.size() + d] = st.op->reduce_axes[d].extent;
  }
  pass_down_extents(st, sb);
  sb.vars.resize(st.loops.size());
  sb.values.assign(st.loops.size(), ir::Expr());
  for (const LoopId l : st.leaves) {
    const size_t i = static_cast<size_t>(l);
    if (!sb.vars[i].defined()) {
      sb.vars[i] = ir::Var(purpose == BoundsFor::kProgram ? st.loop_name(l) : std::string());
      ranges.bind(sb.vars[i], {0, sb.extents[i] - 1});
    }
    sb.values[i] = sb.vars[i];
  }
  complete_values(st, sb, ranges, sb.values);
  if (purpose == BoundsFor::kProgram) guard_splits(st, sb);
}

void take_whole_axes(const Stage& st, StageBounds& sb) {
  sb.axes.clear();
  for (const te::Axis& a : st.op->axes) sb.axes.push_back({ir::Expr(0), a.extent});
}

// Guards that keep an attached stage inside its tensor, and inside a part that is one shorter.
void guard_axes(const Stage& st, StageBounds& sb, const std::vector<ShortPart>& shorts,
                bool whole_box, const arith::Ranges& ranges) {
  const auto add = [&](const ir::Expr& g) {
    if (arith::prove(g, ranges) == std::optional<bool>(true)) return;
    if (whole_box) {
      sb.inside.push_back(g);
      return;
    }
    sb.guards.push_back(g);
    sb.spatial_guards.push_back(g);
  };
  for (size_t d = 0; d < sb.axes.size(); ++d) {
    const AxisBounds& a = sb.axes[d];
    if (ir::is_const(a.min, 0) && a.extent <= st.op->axes[d].extent) continue;
    const ir::Expr index = a.min + sb.values[d];
    add(ir::ge(index, 0));
    add(ir::lt(index, st.op->axes[d].extent));
  }
  for (const ShortPart& p : shorts) {
    add(ir::logical_or(ir::lt(sb.values[p.axis], p.shorter), p.full_when));
  }
}

}  // namespace

void complete_values(const Stage& st, const StageBounds& sb, const arith::Ranges& ranges,
                     std::vector<ir::Expr>& values) {
  ValueBuilder(st, sb, ranges, values).run();
}

ir::VarMap axis_values(const Stage& st, const StageBounds& sb,
                       const std::vector<ir::Expr>& values) {
  ir::VarMap map;
  const size_t rank = st.op->axes.size();
  for (size_t d = 0; d < rank; ++d) {
    map[st.op->axes[d].var.node()] = sb.axes[d].min + values[d];
  }
  for (size_t d = 0; d < st.op->reduce_axes.size(); ++d) {
    map[st.op->reduce_axes[d].var.node()] = values[rank + d];
  }
  return map;
}

StageBounds whole_bounds(const Stage& st, arith::Ranges& ranges) {
  StageBounds sb;
  take_whole_axes(st, sb);
  fill_loops(st, sb, ranges, BoundsFor::kProgram);
  return sb;
}

Result<Bounds> infer_bounds(const State& s, StageId until, BoundsFor purpose) {
  Bounds b;
  b.stages.resize(s.size());
  for (auto it = s.order().rbegin(); it != s.order().rend(); ++it) {
    const Stage& st = s.stage(*it);
    if (st.is_input() || st.place == Place::kInlined) continue;
    StageBounds& sb = b.stages[static_cast<size_t>(st.id)];
    std::vector<ShortPart> shorts;
    if (st.place == Place::kAt) {
      auto region = required_region(s, b, st.id);
      if (!region) return region.illegal();
      sb.axes = std::move(region.value().axes);
      shorts = std::move(region.value().shorts);
    } else {
      take_whole_axes(st, sb);
    }
    fill_loops(st, sb, b.ranges, purpose);
    if (purpose == BoundsFor::kProgram) {
      guard_axes(st, sb, shorts, computes_whole_box(s, st), b.ranges);
    }
    if (st.id == until) break;
  }
  return b;
}

void refill_bounds(const State& s, Bounds& b) {
  b.stages.resize(s.size());
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (st.is_input() || st.place == Place::kInlined) continue;
    StageBounds& sb = b.stages[static_cast<size_t>(id)];
    if (sb.vars.size() == st.loops.size()) continue;
    if (sb.vars.empty()) take_whole_axes(st, sb);
    fill_loops(st, sb, b.ranges, BoundsFor::kSearch);
  }
}

}  // namespace tenon::schedule
