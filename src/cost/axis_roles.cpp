// SPDX-License-Identifier: Apache-2.0
#include "cost/axis_roles.h"

#include <algorithm>
#include <cstdlib>

#include "arith/linear.h"
#include "ir/visit.h"
#include "te/access.h"

namespace tenon::cost {

namespace {

using schedule::StageId;
using schedule::State;

StageId find_anchor(const State& s) {
  StageId best = -1;
  double most = -1;
  bool reduces = false;
  for (const StageId id : s.order()) {
    const schedule::Stage& st = s.stage(id);
    if (st.is_input() || st.place == schedule::Place::kInlined) continue;
    const bool r = st.op->is_reduction();
    const double flops = te::flops(*st.op);
    if (best >= 0 && (r != reduces ? !r : flops <= most)) continue;
    best = id;
    most = flops;
    reduces = r;
  }
  return best;
}

bool uses_axis(const te::Access& a, const te::Axis& axis) {
  return std::any_of(a.indices.begin(), a.indices.end(),
                     [&](const ir::Expr& i) { return ir::uses_var(i, axis.var.node()); });
}

bool uses_any(const ir::Expr& index, const std::vector<te::Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const te::Axis& a) { return ir::uses_var(index, a.var.node()); });
}

class Finder {
 public:
  explicit Finder(const State& s) : state_(s) {
    out_.anchor = find_anchor(s);
    for (size_t i = 0; i < s.size(); ++i) out_.stages.push_back(own_axes(static_cast<StageId>(i)));
  }

  Roles run() {
    if (out_.anchor < 0) return std::move(out_);
    const te::ComputeOp& op = *state_.stage(out_.anchor).op;
    reads_ = te::accesses(op);
    for (const te::Axis& a : op.axes) add(a, false);
    for (const te::Axis& a : op.reduce_axes) add(a, true);
    auto& own = out_.stages[static_cast<size_t>(out_.anchor)];
    for (size_t i = 0; i < out_.axes.size(); ++i) own[i] = out_.axes[i].facts;
    name_operands(op);
    name_alike();
    return std::move(out_);
  }

 private:
  std::vector<AxisFacts> own_axes(StageId id) const {
    const schedule::Stage& st = state_.stage(id);
    std::vector<AxisFacts> out;
    for (const int64_t n : st.buffer.shape()) out.push_back({.extent = n});
    if (st.is_input()) return out;
    for (const te::Axis& a : st.op->reduce_axes) out.push_back({a.extent, AxisRole::kDepth});
    return out;
  }

  // The index of a read in which a position and a reduced axis meet, with this axis; null: none.
  const ir::Expr* sliding(const te::Axis& a) const {
    const te::ComputeOp& op = *state_.stage(out_.anchor).op;
    for (const te::Access& r : reads_) {
      for (const ir::Expr& i : r.indices) {
        if (ir::uses_var(i, a.var.node()) && uses_any(i, op.axes) && uses_any(i, op.reduce_axes)) {
          return &i;
        }
      }
    }
    return nullptr;
  }

  void add(const te::Axis& a, bool reduced) {
    size_t readers = 0;
    bool first = false;
    for (size_t r = 0; r < reads_.size(); ++r) {
      if (!uses_axis(reads_[r], a)) continue;
      ++readers;
      first = first || r == 0;
    }
    const ir::Expr* index = sliding(a);
    const bool shared = reads_.size() > 1 && readers == reads_.size();
    AnchorAxis out;
    out.facts = {
        .extent = a.extent,
        .role = reduced ? index != nullptr && !depth_of_group(a) ? AxisRole::kTap : AxisRole::kDepth
                : shared           ? AxisRole::kShared
                : index != nullptr ? AxisRole::kWindow
                : first            ? AxisRole::kRows
                                   : AxisRole::kColumns,
        .axis = static_cast<int8_t>(std::min<size_t>(out_.axes.size(), 127))};
    if (index != nullptr) {
      const int64_t k = arith::to_linear(*index).coefficient(a.var.node());
      out.step = std::max<int64_t>(1, std::abs(k));
    }
    out_.axes.push_back(out);
  }

  // Channels of a group: they meet the axis that both operands have.
  bool depth_of_group(const te::Axis& a) const {
    const te::ComputeOp& op = *state_.stage(out_.anchor).op;
    const ir::Expr* index = sliding(a);
    return index != nullptr &&
           std::any_of(op.axes.begin(), op.axes.end(), [&](const te::Axis& other) {
             return ir::uses_var(*index, other.var.node()) &&
                    std::all_of(reads_.begin(), reads_.end(),
                                [&](const te::Access& r) { return uses_axis(r, other); });
           });
  }

  // A dimension of an operand is the first axis of the anchor that its index has.
  void name_operands(const te::ComputeOp& op) {
    std::vector<te::Axis> axes = op.axes;
    axes.insert(axes.end(), op.reduce_axes.begin(), op.reduce_axes.end());
    for (const te::Access& r : reads_) {
      const StageId id = state_.owner(r.tensor);
      if (id < 0 || id == out_.anchor) continue;
      auto& dims = out_.stages[static_cast<size_t>(id)];
      for (size_t d = 0; d < r.indices.size() && d < dims.size(); ++d) {
        const auto it = std::find_if(axes.begin(), axes.end(), [&](const te::Axis& a) {
          return ir::uses_var(r.indices[d], a.var.node());
        });
        if (it == axes.end() || dims[d].axis >= 0) continue;
        const AxisFacts& like = out_.axes[static_cast<size_t>(it - axes.begin())].facts;
        dims[d].role = like.role;
        dims[d].axis = like.axis;
      }
    }
  }

  // What has the shape of the anchor's result has its axes, and what an operand is made of, the operand's.
  void name_alike() {
    const size_t rank = state_.stage(out_.anchor).buffer.rank();
    for (size_t i = 0; i < state_.size(); ++i) copy_axes(static_cast<size_t>(out_.anchor), i, rank);
    for (size_t i = state_.size(); i-- > 0;) {
      const schedule::Stage& st = state_.stage(static_cast<StageId>(i));
      if (st.is_input() || st.op->is_reduction()) continue;
      for (const te::Access& r : te::accesses(*st.op)) {
        const StageId from = state_.owner(r.tensor);
        if (from >= 0) copy_axes(i, static_cast<size_t>(from), 0);
      }
    }
  }

  // Where nothing is known of `to` yet. `same_shape`: dimensions that must be equal; 0: the rank alone.
  void copy_axes(size_t from, size_t to, size_t same_shape) {
    const auto& a = out_.stages[from];
    auto& b = out_.stages[to];
    const size_t rank = state_.stage(static_cast<StageId>(from)).buffer.rank();
    if (state_.stage(static_cast<StageId>(to)).buffer.rank() != rank) return;
    for (size_t d = 0; d < rank; ++d) {
      if (b[d].axis >= 0 || (same_shape > 0 && a[d].extent != b[d].extent)) return;
    }
    for (size_t d = 0; d < rank; ++d) {
      b[d].role = a[d].role;
      b[d].axis = a[d].axis;
    }
  }

  const State& state_;
  std::vector<te::Access> reads_;
  Roles out_;
};

}  // namespace

Roles roles_of(const State& s) { return Finder(s).run(); }

}  // namespace tenon::cost
