// SPDX-License-Identifier: Apache-2.0
#include "schedule/layout_rewrite.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "arith/linear.h"
#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "schedule/pad_guards.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

using layout::LayoutOp;
using layout::LayoutStep;

constexpr double kMaxGrowth = 4.0;

// x[V*i + offset] with i over spatial axes and offset over reduction axes; nothing if V cannot be told.
std::optional<layout::SlidingAccess> sliding_access(const ir::Expr& index,
                                                    const te::ComputeOp& reader,
                                                    const arith::Ranges& ranges) {
  const arith::Linear form = arith::to_linear(index);
  if (!form.is_affine()) return std::nullopt;
  const auto is_reduce = [&](const ir::Expr& v) {
    for (const te::Axis& a : reader.reduce_axes) {
      if (a.var.same_as(v)) return true;
    }
    return false;
  };
  arith::Linear windows;
  arith::Linear offset;
  offset.constant = form.constant;
  int64_t stride = 0;
  for (const auto& [atom, k] : form.terms) {
    (is_reduce(atom) ? offset : windows).terms.emplace_back(atom, k);
    if (!is_reduce(atom)) stride = std::gcd(stride, k);
  }
  if (stride == 0) return std::nullopt;
  for (auto& [atom, k] : windows.terms) k /= stride;
  const arith::Interval span = arith::interval_of(arith::to_expr(offset), ranges);
  if (!span.bounded() || span.lo < 0) return std::nullopt;
  return layout::SlidingAccess{arith::to_expr(windows), stride, arith::to_expr(offset),
                               span.hi + 1};
}

// Storage indices of one read after `step`; nothing if a sliding window does not fit the tiles.
std::optional<std::vector<ir::Expr>> new_indices(const layout::Layout& one, const LayoutStep& step,
                                                 const std::vector<ir::Expr>& old,
                                                 const te::ComputeOp& reader,
                                                 const arith::Ranges& ranges) {
  if (step.op != LayoutOp::kUnfold) return one.to_storage(old, ranges);
  const size_t d = static_cast<size_t>(step.dim);
  const auto access = sliding_access(old[d], reader, ranges);
  if (!access) return std::nullopt;
  const auto moved = layout::rewrite_sliding(*access, step.args[0], step.args[1], ranges);
  if (!moved) return std::nullopt;
  const arith::Interval tile = arith::interval_of(moved->tile, ranges);
  const arith::Interval offset = arith::interval_of(moved->offset, ranges);
  if (tile.lo < 0 || tile.hi >= one.storage_shape()[d] || offset.lo < 0 ||
      offset.hi >= step.args[0]) {
    return std::nullopt;
  }
  std::vector<ir::Expr> out = old;
  out[d] = moved->tile;
  out.insert(out.begin() + step.dim + 1, moved->offset);
  return out;
}

// The axes after `step`: those it does not concern stay, new ones are named after their origin by a name not yet
// taken.
std::vector<te::Axis> new_axes(const te::ComputeOp& op, const LayoutStep& step,
                               const std::vector<int64_t>& shape) {
  std::vector<te::Axis> axes = op.axes;
  const auto fresh = [&](std::string name, size_t dim) {
    const auto is = [&](const te::Axis& a) { return a.var.name() == name; };
    while (std::any_of(op.axes.begin(), op.axes.end(), is) ||
           std::any_of(op.reduce_axes.begin(), op.reduce_axes.end(), is)) {
      name += "_";
    }
    return te::Axis{ir::Var(name), shape[dim]};
  };
  const size_t d = static_cast<size_t>(step.dim);
  switch (step.op) {
    case LayoutOp::kReorder:
      for (size_t i = 0; i < axes.size(); ++i) axes[i] = op.axes[static_cast<size_t>(step.args[i])];
      break;
    case LayoutOp::kSplit: {
      std::vector<te::Axis> parts;
      for (size_t j = 0; j < step.args.size(); ++j) {
        parts.push_back(fresh(op.axes[d].var.name() + "_" + std::to_string(j), d + j));
      }
      axes.insert(axes.erase(axes.begin() + step.dim), parts.begin(), parts.end());
      break;
    }
    case LayoutOp::kFuse: {
      std::string joined = op.axes[d].var.name();
      for (size_t j = 1; j < static_cast<size_t>(step.args[0]); ++j) {
        joined += "_" + op.axes[d + j].var.name();
      }
      axes.erase(axes.begin() + step.dim + 1, axes.begin() + step.dim + step.args[0]);
      axes[d] = fresh(joined, d);
      break;
    }
    case LayoutOp::kUnfold:
      axes[d] = fresh(op.axes[d].var.name() + "_t", d);
      axes.insert(axes.begin() + step.dim + 1, fresh(op.axes[d].var.name() + "_b", d + 1));
      break;
    case LayoutOp::kPad:
    case LayoutOp::kSwizzle:
      axes[d] = {ir::Var(op.axes[d].var.name()), shape[d]};
      break;
    case LayoutOp::kStoreAt:
      break;
  }
  return axes;
}

// The op rebuilt so that its axes are the new storage dimensions (ALT's loop reconstruction).
void rebuild_writer(Stage& st, const layout::Layout& one, const LayoutStep& step) {
  auto op = std::make_shared<te::ComputeOp>(*st.op);
  op->output = st.buffer;
  op->axes = new_axes(*st.op, step, one.storage_shape());
  if (step.op != LayoutOp::kReorder) {
    const arith::Ranges ranges = op->ranges();
    const std::vector<ir::Expr> storage = variables(op->axes);
    const auto logical = one.to_logical(storage, ranges);
    ir::VarMap map;
    for (size_t d = 0; d < logical.size(); ++d) {
      const ir::Var& old = st.op->axes[d].var;
      if (!logical[d].same_as(old)) map[old.node()] = logical[d];
    }
    op->body = replace_axes(op->body, map, ranges);
    ir::Expr holds = one.holds_element(storage, ranges);
    if (st.holds.defined()) {
      holds = ir::logical_and(replace_axes(st.holds, map, ranges), holds);
    }
    st.holds = ir::is_const_true(holds) ? ir::Expr() : holds;
  }
  st.op = op;
  reset_loops(st);
}

// Every reader finds each of its windows in one tile.
Result<void> check_windows(const State& s, StageRef stage, const LayoutStep& step) {
  const layout::Layout one = layout::Layout(s[stage].buffer.shape()).then(step);
  for (const StageId r : s.readers(stage.id)) {
    bool fits = true;
    const te::ComputeOp& reader = *s.stage(r).op;
    const arith::Ranges ranges = reader.ranges();
    ir::visit_loads(reader.body, [&](const ir::Load& l) {
      if (!l.buffer.same_as(s[stage].buffer)) return;
      fits = fits && new_indices(one, step, l.indices, reader, ranges).has_value();
    });
    if (!fits) return Illegal{.code = IllegalCode::kNotSliding, .stage = stage.id, .other = r};
  }
  return {};
}

}  // namespace

Result<void> check_layout(const State& s, StageRef stage, const LayoutStep& step) {
  if (!s.has(stage)) return Illegal{.code = IllegalCode::kNoSuchStage, .value = stage.id};
  const Stage& st = s[stage];
  if (st.place == Place::kInlined) return Illegal{.code = IllegalCode::kInlined, .stage = stage.id};
  if (st.stored_in >= 0) return Illegal{.code = IllegalCode::kNotStored, .stage = stage.id};
  if (st.loops_touched() || st.align_dim >= 0) {
    return Illegal{.code = IllegalCode::kLoopsTransformed, .stage = stage.id};
  }
  TENON_TRY(check_hosts_nothing(s, stage));
  if (step.op != LayoutOp::kReorder &&
      (step.dim < 0 || step.dim >= static_cast<int64_t>(st.buffer.rank()))) {
    return Illegal{.code = IllegalCode::kNoSuchDim, .stage = stage.id, .value = step.dim};
  }
  if (!st.layout.why_not(step).empty()) {
    return Illegal{.code = IllegalCode::kBadLayout, .stage = stage.id};
  }
  if (step.op == LayoutOp::kPad || step.op == LayoutOp::kUnfold || step.op == LayoutOp::kSplit) {
    const double growth = st.layout.growth_after(step);
    if (growth > kMaxGrowth && growth > st.layout.growth()) {
      return Illegal{.code = IllegalCode::kLayoutGrowth,
                     .stage = stage.id,
                     .value = static_cast<int64_t>(std::ceil(growth)),
                     .limit = static_cast<int64_t>(kMaxGrowth)};
    }
  }
  if (!st.is_input() && st.op->is_reduction()) {
    if (step.op == LayoutOp::kUnfold)
      return Illegal{.code = IllegalCode::kWrittenTwice, .stage = stage.id};
    if (step.op == LayoutOp::kPad)
      return Illegal{.code = IllegalCode::kPadReduction, .stage = stage.id};
  }
  return step.op == LayoutOp::kUnfold ? check_windows(s, stage, step) : Result<void>();
}

void apply_layout(State& s, StageRef stage, const LayoutStep& step) {
  const ir::Buffer old = s[stage].buffer;
  const layout::Layout one = layout::Layout(old.shape()).then(step);
  Stage& st = s.edit(stage.id);
  st.buffer = ir::Buffer::make(old.name(), old.dtype(), one.storage_shape(), st.scope);
  st.layout.append(step);
  if (step.op == LayoutOp::kPad) st.zero_padding = true;
  if (!st.is_input()) rebuild_writer(st, one, step);
  const ir::Buffer fresh = st.buffer;
  if (step.op == LayoutOp::kPad) {
    strip_pad_guards(s, old, static_cast<size_t>(step.dim), step.args[0], step.args[1]);
  }
  for (const StageId r : s.readers_of(old)) {
    const te::OpRef reader = s.stage(r).op;
    const arith::Ranges ranges = reader->ranges();
    rewrite_reads(s, r, old, [&](const ir::Load& read) {
      auto indices = new_indices(one, step, read.indices, *reader, ranges);
      TENON_CHECK(indices.has_value()) << "a read of " << old.name() << " does not fit its layout";
      return ir::load(fresh, std::move(*indices), read.predicate);
    });
  }
}

}  // namespace tenon::schedule
