// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/gpu_constants.h"

#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "ir/visit.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using schedule::StageId;
using space::Builder;
using space::StageRef;

// A dimension that one axis alone decides: i // step % n.
struct Digit {
  const ir::VarNode* axis;
  int64_t step;
};

std::optional<Digit> digit_of(const ir::Expr& index) {
  if (const auto* v = index.as<ir::VarNode>()) return Digit{v, 1};
  const auto* b = index.as<ir::Binary>();
  const auto n = b == nullptr ? std::nullopt : ir::const_int(b->b);
  if (!n) return std::nullopt;
  auto inner = digit_of(b->a);
  if (!inner) return std::nullopt;
  if (b->op == ir::BinaryOp::kFloorMod) return inner;
  if (b->op != ir::BinaryOp::kFloorDiv) return std::nullopt;
  inner->step *= *n;
  return inner;
}

// The one place where the sum reads the tensor; null if there are others.
const ir::Load* only_read(const te::ComputeOp& sum, const ir::Buffer& b) {
  const ir::Load* found = nullptr;
  int64_t n = 0;
  ir::visit_loads(sum.body, [&](const ir::Load& l) {
    if (!l.buffer.same_as(b)) return;
    found = &l;
    ++n;
  });
  return n == 1 ? found : nullptr;
}

class Storer {
 public:
  Storer(Builder& b, const te::ComputeOp& sum) : b_(b), sum_(sum) {}

  // All steps or none.
  void store(StageRef tensor, const ir::Load& read) {
    if (!find_order(read)) return;
    const auto before = b_.mark();
    const bool moved = std::is_sorted(order_.begin(), order_.end()) ||
                       b_.try_add(schedule::LayoutReorder{tensor, order_});
    if (moved && fuse(tensor, read)) return;
    b_.back_to(before);
  }

 private:
  bool find_order(const ir::Load& read) {
    std::vector<int64_t> batch, own;
    std::vector<std::pair<std::pair<size_t, int64_t>, int64_t>> along;  // axis, -step, dimension
    for (size_t d = 0; d < read.indices.size(); ++d) {
      const auto digit = digit_of(read.indices[d]);
      if (!digit) return false;
      const auto dim = static_cast<int64_t>(d);
      if (const auto s = position(sum_.axes, digit->axis)) {
        (is_batch_axis(sum_, *s) ? batch : own).push_back(dim);
      } else if (const auto r = position(sum_.reduce_axes, digit->axis)) {
        along.push_back({{*r, -digit->step}, dim});
      } else {
        return false;
      }
    }
    std::sort(along.begin(), along.end());
    order_ = batch;
    for (const auto& a : along) order_.push_back(a.second);
    order_.insert(order_.end(), own.begin(), own.end());
    return true;
  }

  // Neighbours that are digits of the same axis of the sum, the last group first.
  bool fuse(StageRef tensor, const ir::Load& read) {
    const auto axis_at = [&](size_t i) {
      return digit_of(read.indices[static_cast<size_t>(order_[i])])->axis;
    };
    for (size_t end = order_.size(); end > 0;) {
      size_t first = end - 1;
      const bool sums = position(sum_.reduce_axes, axis_at(first)).has_value();
      while (sums && first > 0 && axis_at(first - 1) == axis_at(first)) --first;
      const auto count = static_cast<int64_t>(end - first);
      const auto dim = static_cast<int64_t>(first);
      if (count > 1 && !b_.try_add(schedule::LayoutFuse{tensor, dim, count})) return false;
      end = first;
    }
    return true;
  }

  static std::optional<size_t> position(const std::vector<te::Axis>& axes, const ir::VarNode* v) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].var.node() == v) return i;
    }
    return std::nullopt;
  }

  Builder& b_;
  const te::ComputeOp& sum_;
  std::vector<int64_t> order_;
};

}  // namespace

bool is_batch_axis(const te::ComputeOp& sum, size_t axis) {
  const auto reads = te::accesses(sum);
  return std::all_of(reads.begin(), reads.end(), [&](const te::Access& a) {
    return std::any_of(a.indices.begin(), a.indices.end(),
                       [&](const ir::Expr& i) { return i.same_as(sum.axes[axis].var); });
  });
}

void store_constants(Builder& b, StageRef sum) {
  if (b.refused()) return;
  for (const te::Input& in : b.dag().inputs) {
    const te::OpRef op = b.state()[sum].op;  // which a layout rewrites
    const StageRef tensor = b.stage(in.tensor.name());
    const schedule::Stage& st = b.state()[tensor];
    const auto readers = b.state().readers(tensor.id);
    if (!st.constant || !st.layout.is_identity() || readers != std::vector<StageId>{sum.id})
      continue;
    if (const ir::Load* read = only_read(*op, st.buffer)) Storer(b, *op).store(tensor, *read);
  }
}

}  // namespace tenon::search
