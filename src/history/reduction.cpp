// SPDX-License-Identifier: Apache-2.0
#include "history/reduction.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "arith/linear.h"
#include "ir/visit.h"
#include "support/check.h"
#include "te/access.h"

namespace tenon::history {
namespace {

using te::Access;
using te::Axis;
using te::ComputeOp;

bool uses(const Access& a, const Axis& axis) {
  return std::any_of(a.indices.begin(), a.indices.end(),
                     [&](const ir::Expr& i) { return ir::uses_var(i, axis.var.node()); });
}

std::vector<const Axis*> used_by(const ir::Expr& index, const std::vector<Axis>& axes) {
  std::vector<const Axis*> out;
  for (const Axis& a : axes) {
    if (ir::uses_var(index, a.var.node())) out.push_back(&a);
  }
  return out;
}

bool is_constant(const te::ComputeDag& dag, const te::Tensor& t) {
  return std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [&](const te::Input& in) { return in.constant && in.tensor.same_as(t); });
}

bool has_select(const ir::Expr& body) {
  bool found = false;
  ir::visit(body, [&](const ir::Expr& e) { found = found || e.as<ir::Select>() != nullptr; });
  return found;
}

std::string combiner_word(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::kAdd:
      return "sum";
    case ir::BinaryOp::kMul:
      return "prod";
    default:
      return std::string(ir::to_string(op));
  }
}

class Looker {
 public:
  Looker(const te::ComputeDag& dag, const ComputeOp& op) : op_(op), reads_(te::accesses(op)) {
    find_operands(dag);
  }

  Reduction run() {
    if (x_ != nullptr) find_windows();
    for (const Axis& a : op_.axes) add_spatial(a);
    for (const Axis& a : op_.reduce_axes) {
      if (!is_kernel(a)) out_.depth *= a.extent;
    }
    find_groups();
    out_.kind = kind();
    return std::move(out_);
  }

 private:
  // A position and a reduced axis meet in one index.
  bool slides(const Access& a) const {
    return std::any_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& i) {
      return !used_by(i, op_.axes).empty() && !used_by(i, op_.reduce_axes).empty();
    });
  }

  // The second operand is the one that does not slide, or the constant one, or the later one.
  void find_operands(const te::ComputeDag& dag) {
    if (reads_.empty()) return;
    x_ = &reads_[0];
    if (reads_.size() != 2) return;
    w_ = &reads_[1];
    const auto rank = [&](const Access& a) {
      return (slides(a) ? 2 : 0) + (is_constant(dag, a.tensor) ? 0 : 1);
    };
    if (rank(*w_) > rank(*x_)) std::swap(x_, w_);
  }

  void find_windows() {
    for (const ir::Expr& index : x_->indices) {
      const auto positions = used_by(index, op_.axes);
      const auto taps = used_by(index, op_.reduce_axes);
      if (positions.empty() || taps.empty()) continue;
      if (w_ != nullptr && uses(*w_, *positions[0])) {  // channels of a group
        grouped_ = &index;
        continue;
      }
      const arith::Linear l = arith::to_linear(index);
      const auto step = [&](const Axis& a) {
        return std::max<int64_t>(1, std::abs(l.coefficient(a.var.node())));
      };
      out_.windows.push_back({positions[0]->extent, 1, step(*positions[0]), step(*taps.back())});
      for (const Axis* t : taps) out_.windows.back().kernel *= t->extent;
      sliding_.insert(sliding_.end(), positions.begin(), positions.end());
      kernels_.insert(kernels_.end(), taps.begin(), taps.end());
    }
  }

  bool is_kernel(const Axis& a) const {
    return std::find(kernels_.begin(), kernels_.end(), &a) != kernels_.end();
  }

  void add_spatial(const Axis& a) {
    if (std::find(sliding_.begin(), sliding_.end(), &a) != sliding_.end()) return;
    const bool by_x = x_ != nullptr && uses(*x_, a);
    const bool by_w = w_ != nullptr && uses(*w_, a);
    (by_x && by_w ? out_.shared : by_w ? out_.columns : out_.rows) *= a.extent;
    has_shared_ = has_shared_ || (by_x && by_w && a.extent > 1);
  }

  void find_groups() {
    if (grouped_ == nullptr) return;
    const auto at = static_cast<size_t>(grouped_ - x_->indices.data());
    out_.groups = std::max<int64_t>(1, x_->tensor.shape()[at] / std::max<int64_t>(1, out_.depth));
  }

  std::string kind() const {
    std::string word;
    const std::string number =
        std::to_string(out_.windows.empty() ? op_.axes.size() : out_.windows.size());
    if (w_ == nullptr) {
      word = (out_.windows.empty() ? "reduce" : "pool") + number + "-" +
             combiner_word(op_.combiner.value_or(ir::BinaryOp::kAdd));
    } else if (out_.windows.empty()) {
      word = (has_shared_ ? "batch-matmul" : "matmul") + number;
    } else {
      const bool summed = out_.depth > 1;
      word = std::string(has_select(op_.body) ? "transposed-" : "") +
             (!has_shared_ ? ""
              : summed     ? "grouped-"
                           : "depthwise-") +
             "conv" + number;
    }
    return word + "." + ir::to_string(op_.output.dtype()) +
           (x_ == nullptr || x_->tensor.dtype() == op_.output.dtype()
                ? ""
                : "." + ir::to_string(x_->tensor.dtype()));
  }

  const ComputeOp& op_;
  std::vector<Access> reads_;
  const Access* x_ = nullptr;
  const Access* w_ = nullptr;
  const ir::Expr* grouped_ = nullptr;  // the index of the first operand that goes by groups
  std::vector<const Axis*> sliding_, kernels_;
  bool has_shared_ = false;
  Reduction out_;
};

}  // namespace

Reduction reduction_of(const te::ComputeDag& dag, const ComputeOp& op) {
  return Looker(dag, op).run();
}

const ComputeOp& anchor_of(const te::ComputeDag& dag) {
  TENON_CHECK(!dag.ops.empty()) << "a dag without an op";
  const ComputeOp* best = dag.ops[0].get();
  for (const te::OpRef& op : dag.ops) {
    const bool better = op->is_reduction() != best->is_reduction()
                            ? op->is_reduction()
                            : te::flops(*op) > te::flops(*best);
    if (better) best = op.get();
  }
  return *best;
}

}  // namespace tenon::history
