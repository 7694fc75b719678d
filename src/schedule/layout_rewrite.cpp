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
                                                    const te::ComputeOp& reader) {
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
  const arith::Ranges ranges = reader.ranges();
  const arith::Interval span = arith::interval_of(arith::to_expr(offset), ranges);
  if (!span.bounded() || span.lo < 0) return std::nullopt;
  return layout::SlidingAccess{arith::to_expr(windows), stride, arith::to_expr(offset),
                               span.hi + 1};
}

// Storage indices of one read after `step`; nothing if a sliding window does not fit the tiles.
std::optional<std::vector<ir::Expr>> new_indices(const layout::Layout& one, const LayoutStep& step,
                                                 const std::vector<ir::Expr>& old,
                                                 const te::ComputeOp& reader) {
  const arith::Ranges ranges = reader.ranges();
  if (step.op != LayoutOp::kUnfold) return one.to_storage(old, ranges);
  const size_t d = static_cast<size_t>(step.dim);
  const auto access = sliding_access(old[d], reader);
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

// Names for the axes after `step`; what it makes new is named after its origin, by a name not yet taken.
std::vector<std::string> new_names(const te::ComputeOp& op, const LayoutStep& step) {
  std::vector<std::string> names;
  for (const te::Axis& a : op.axes) names.push_back(a.var.name());
  const auto fresh = [&](std::string name) {
    const auto is = [&](const te::Axis& a) { return a.var.name() == name; };
    while (std::any_of(op.axes.begin(), op.axes.end(), is) ||
           std::any_of(op.reduce_axes.begin(), op.reduce_axes.end(), is)) {
      name += "_";
    }
    return name;
  };
  const size_t d = static_cast<size_t>(step.dim);
  const auto at = names.begin() + step.dim;
  switch (step.op) {
    case LayoutOp::kReorder: {
      std::vector<std::string> out;
      for (const int64_t p : step.args) out.push_back(names[static_cast<size_t>(p)]);
      return out;
    }
    case LayoutOp::kSplit: {
      std::vector<std::string> parts;
      for (size_t j = 0; j < step.args.size(); ++j)
        parts.push_back(fresh(names[d] + "_" + std::to_string(j)));
      names.insert(names.erase(at), parts.begin(), parts.end());
      return names;
    }
    case LayoutOp::kFuse: {
      std::string joined = names[d];
      for (int64_t j = 1; j < step.args[0]; ++j) joined += "_" + names[d + static_cast<size_t>(j)];
      names.erase(at, at + step.args[0]);
      names.insert(names.begin() + step.dim, fresh(joined));
      return names;
    }
    case LayoutOp::kUnfold: {
      const std::string base = names[d];
      *at = fresh(base + "_t");
      names.insert(names.begin() + step.dim + 1, fresh(base + "_b"));
      return names;
    }
    case LayoutOp::kPad:
    case LayoutOp::kStoreAt:
      return names;
  }
  return names;
}

// The op rebuilt so that its axes are the new storage dimensions (ALT's loop reconstruction).
void rebuild_writer(Stage& st, const layout::Layout& one, const LayoutStep& step) {
  auto op = std::make_shared<te::ComputeOp>(*st.op);
  op->output = st.buffer;
  op->axes.clear();
  std::vector<ir::Expr> storage;
  const auto names = new_names(*st.op, step);
  for (size_t d = 0; d < names.size(); ++d) {
    op->axes.push_back({ir::Var(names[d]), one.storage_shape()[d]});
    storage.push_back(op->axes.back().var);
  }
  const arith::Ranges ranges = op->ranges();
  const auto logical = one.to_logical(storage, ranges);
  ir::VarMap map;
  for (size_t d = 0; d < logical.size(); ++d) map[st.op->axes[d].var.node()] = logical[d];
  op->body = arith::simplify(ir::substitute(st.op->body, map), ranges);
  ir::Expr holds = one.holds_element(storage, ranges);
  if (st.holds.defined()) holds = ir::logical_and(ir::substitute(st.holds, map), holds);
  holds = arith::simplify(holds, ranges);
  st.holds = ir::is_const_true(holds) ? ir::Expr() : holds;
  st.op = op;
  reset_loops(st);
}

bool reads_fit(const State& s, StageRef stage, const layout::Layout& one, const LayoutStep& step,
               StageId* misfit) {
  if (step.op != LayoutOp::kUnfold) return true;
  for (const StageId r : s.readers(stage.id)) {
    bool fits = true;
    const te::ComputeOp& reader = *s.stage(r).op;
    ir::visit(reader.body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || !l->buffer.same_as(s[stage].buffer)) return;
      fits = fits && new_indices(one, step, l->indices, reader).has_value();
    });
    if (!fits) {
      *misfit = r;
      return false;
    }
  }
  return true;
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
  const layout::Layout next = st.layout.then(step);
  const bool grows =
      step.op == LayoutOp::kPad || step.op == LayoutOp::kUnfold || step.op == LayoutOp::kSplit;
  if (grows && next.growth() > kMaxGrowth && next.growth() > st.layout.growth()) {
    return Illegal{.code = IllegalCode::kLayoutGrowth,
                   .stage = stage.id,
                   .value = static_cast<int64_t>(std::ceil(next.growth())),
                   .limit = static_cast<int64_t>(kMaxGrowth)};
  }
  if (!st.is_input() && st.op->is_reduction()) {
    if (step.op == LayoutOp::kUnfold)
      return Illegal{.code = IllegalCode::kWrittenTwice, .stage = stage.id};
    if (step.op == LayoutOp::kPad)
      return Illegal{.code = IllegalCode::kPadReduction, .stage = stage.id};
  }
  StageId misfit = -1;
  if (!reads_fit(s, stage, layout::Layout(st.buffer.shape()).then(step), step, &misfit)) {
    return Illegal{.code = IllegalCode::kNotSliding, .stage = stage.id, .other = misfit};
  }
  return {};
}

void apply_layout(State& s, StageRef stage, const LayoutStep& step) {
  const ir::Buffer old = s[stage].buffer;
  const layout::Layout one = layout::Layout(old.shape()).then(step);
  Stage& st = s.edit(stage.id);
  st.buffer = ir::Buffer::make(old.name(), old.dtype(), one.storage_shape(), st.scope);
  st.layout = st.layout.then(step);
  if (step.op == LayoutOp::kPad) st.zero_padding = true;
  if (!st.is_input()) rebuild_writer(st, one, step);
  const ir::Buffer fresh = st.buffer;
  if (step.op == LayoutOp::kPad) {
    strip_pad_guards(s, old, static_cast<size_t>(step.dim), step.args[0], step.args[1]);
  }
  rewrite_all_reads(s, old, [&](const ir::Load& read, const te::ComputeOp& reader) {
    const auto indices = new_indices(one, step, read.indices, reader);
    TENON_CHECK(indices.has_value()) << "a read of " << old.name() << " does not fit its layout";
    return ir::load(fresh, *indices, read.predicate);
  });
}

}  // namespace tenon::schedule
