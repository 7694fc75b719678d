// SPDX-License-Identifier: Apache-2.0
#include "te/attention.h"

#include <algorithm>

#include "ir/visit.h"
#include "te/limited.h"
#include "te/splice.h"

namespace tenon::te {

namespace {

// sum(r) A * B of two tensors, of all products or up to a limit.
bool is_product(const ComputeOp& op) {
  const auto* product = op.body.as<ir::Binary>();
  return op.combiner == ir::BinaryOp::kAdd && op.reduce_axes.size() == 1 && op.axes.size() >= 2 &&
         product != nullptr && product->op == ir::BinaryOp::kMul &&
         without_limit(product->a).as<ir::Load>() != nullptr &&
         product->b.as<ir::Load>() != nullptr;
}

bool reads(const ComputeOp& op, const Tensor& t) {
  bool found = false;
  ir::visit(op.body, [&](const ir::Expr& e) {
    const auto* l = e.as<ir::Load>();
    found = found || (l != nullptr && l->buffer.same_as(t));
  });
  return found;
}

class Finder {
 public:
  explicit Finder(const ComputeDag& dag) : dag_(dag) {}

  std::optional<Attention> run() {
    if (!find_products() || !sort_ops() || !match_scores() || !match_rows() || !match_result() ||
        !match_after())
      return std::nullopt;
    return std::move(a_);
  }

 private:
  bool find_products() {
    for (const OpRef& op : dag_.ops) {
      if (!op->is_reduction() || !has_data_reuse(*op)) continue;
      if (a_.result != nullptr || !is_product(*op)) return false;
      (a_.scores == nullptr ? a_.scores : a_.result) = op.get();
    }
    if (a_.result == nullptr || dag_.outputs.size() != 1) return false;
    for (const OpRef& op : dag_.ops) {
      if (op->output.dtype() != a_.result->output.dtype()) return false;
    }
    a_.final = dag_.producer(dag_.outputs[0]);
    return a_.scores->axes.size() == a_.result->axes.size();
  }

  // Every other op depends on O, or on S, or moves an input.
  bool sort_ops() {
    std::vector<const ComputeOp*> behind{a_.scores};
    const auto reads_any = [](const ComputeOp& op, const std::vector<const ComputeOp*>& of) {
      return std::any_of(of.begin(), of.end(),
                         [&](const ComputeOp* b) { return reads(op, b->output); });
    };
    for (const OpRef& op : dag_.ops) {
      if (op.get() == a_.scores) continue;
      if (op.get() == a_.result || reads_any(*op, a_.after)) {
        a_.after.push_back(op.get());
      } else if (reads_any(*op, behind)) {
        a_.rows.push_back(op.get());
        behind.push_back(op.get());
      } else if (moves_input(*op)) {
        a_.moves.push_back(op.get());
      } else {
        return false;
      }
    }
    if (a_.rows.empty() || a_.after.empty() || a_.after.back() != a_.final) return false;
    a_.after.pop_back();
    if (!a_.after.empty()) a_.after.erase(a_.after.begin());  // O itself
    return true;
  }

  bool moves_input(const ComputeOp& op) const {
    const auto* l = op.body.as<ir::Load>();
    return l != nullptr && dag_.producer(l->buffer) == nullptr &&
           dag_.readers(op.output).size() == 1;
  }

  bool is_operand(const Tensor& t) const { return dag_.producer(t) == nullptr || a_.is_moved(t); }

  bool match_scores() {
    const ComputeOp& s = *a_.scores;
    const size_t i = a_.row_axis(), j = i + 1;
    const auto all = accesses(s);
    if (all.size() != 2 || !all[0].affine || !all[1].affine) return false;
    const size_t k = all[1].strides[j] != 0 ? 1 : 0;
    a_.k = all[k];
    a_.q = all[1 - k];
    if (a_.k.strides[j] == 0 || a_.k.strides[i] != 0 || a_.q.strides[j] != 0) return false;
    if (!is_operand(a_.k.tensor) || !is_operand(a_.q.tensor)) return false;
    if (a_.k.tensor.same_as(a_.q.tensor)) return false;
    size_t columns = 0, sums = 0;
    for (size_t d = 0; d < a_.k.indices.size(); ++d) {
      const ir::Expr& index = a_.k.indices[d];
      if (index.same_as(s.axes[j].var)) {
        a_.k_dim = d;
        ++columns;
      } else if (ir::uses_var(index, s.axes[j].var.node())) {
        return false;
      } else if (ir::uses_var(index, s.reduce_axes[0].var.node())) {
        a_.k_sum = d;
        ++sums;
      }
    }
    return columns == 1 && sums == 1;
  }

  // Op `op` stands at the rows of S: its leading axes are those of S up to i, behind them j or nothing.
  bool at_rows(const ComputeOp& op) const {
    const size_t leading = a_.row_axis() + 1;
    if (op.axes.size() < leading || op.axes.size() > leading + 1) return false;
    for (size_t d = 0; d < op.axes.size(); ++d) {
      const int64_t extent = op.axes[d].extent;
      if (extent != a_.scores->axes[d].extent && !(d == leading && extent == 1)) return false;
    }
    if (!op.is_reduction()) return true;
    const bool along = op.axes.size() == leading || op.axes[leading].extent == 1;
    return along && op.reduce_axes.size() == 1 &&
           op.reduce_axes[0].extent == a_.scores->axes.back().extent;
  }

  // What it reads of S or of other rows it reads at its own row, and along j in order.
  bool reads_own_row(const ComputeOp& op) const {
    const size_t leading = a_.row_axis() + 1;
    bool ok = true;
    ir::visit(op.body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || dag_.producer(l->buffer) == nullptr) return;
      for (size_t d = 0; d < l->indices.size() && ok; ++d) {
        const bool along = d >= leading && op.is_reduction();
        const Axis& axis = along ? op.reduce_axes[0] : op.axes[std::min(d, op.axes.size() - 1)];
        const bool own = d < op.axes.size() || along;
        ok = (own && l->indices[d].same_as(axis.var)) || l->buffer.shape()[d] == 1;
      }
    });
    return ok;
  }

  bool match_rows() const {
    bool reduces = false;
    for (const ComputeOp* op : a_.rows) {
      if (!at_rows(*op) || !reads_own_row(*op)) return false;
      reduces = reduces || op->is_reduction();
    }
    return reduces;
  }

  bool match_result() {
    const ComputeOp& o = *a_.result;
    const size_t i = a_.row_axis(), d = i + 1;
    const auto all = factors(o);
    if (all.size() != 2 || !all[0].affine || !all[1].affine) return false;
    const size_t p = all[0].tensor.same_as(a_.rows.back()->output) ? 0 : 1;
    const Access& weights = all[p];
    a_.v = all[1 - p];
    if (!weights.tensor.same_as(a_.rows.back()->output) || !is_operand(a_.v.tensor) ||
        a_.v.tensor.same_as(a_.k.tensor) || a_.v.tensor.same_as(a_.q.tensor) ||
        a_.v.strides[i] != 0 || a_.v.strides[d] != 1)
      return false;
    for (size_t at = 0; at < weights.indices.size(); ++at) {
      const Axis& axis = at + 1 == weights.indices.size() ? o.reduce_axes[0] : o.axes[at];
      if (!weights.indices[at].same_as(axis.var) && weights.tensor.shape()[at] != 1) return false;
    }
    return weights.indices.size() == o.axes.size() &&
           o.reduce_axes[0].extent == a_.scores->axes.back().extent &&
           o.axes[i].extent == a_.scores->axes[i].extent;
  }

  // Each op behind O reads the one before it at its own axes, in some order.
  bool match_after() {
    const ComputeOp* before = a_.result;
    for (size_t d = 0; d < before->axes.size(); ++d) a_.place.push_back(d);
    std::vector<const ComputeOp*> chain = a_.after;
    if (a_.final != a_.result) chain.push_back(a_.final);
    for (const ComputeOp* op : chain) {
      if (op->is_reduction() || op->output.dtype() != before->output.dtype()) return false;
      if (!follow(*op, *before)) return false;
      before = op;
    }
    const size_t columns = a_.place.back();
    return columns == Attention::kNone || columns + 1 == a_.final->axes.size();
  }

  bool follow(const ComputeOp& op, const ComputeOp& before) {
    const ir::Load* only = nullptr;
    bool ok = true;
    ir::visit(op.body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || dag_.producer(l->buffer) == nullptr) return;
      ok = ok && l->buffer.same_as(before.output) && (only == nullptr || same_place(*only, *l));
      only = l;
    });
    if (!ok || only == nullptr) return false;
    for (size_t& p : a_.place) {
      if (p == Attention::kNone || before.axes[p].extent == 1) {
        p = Attention::kNone;
        continue;
      }
      const auto is = [&](const Axis& a) { return only->indices[p].same_as(a.var); };
      const auto at = std::find_if(op.axes.begin(), op.axes.end(), is);
      if (at == op.axes.end() || at->extent != before.axes[p].extent) return false;
      p = static_cast<size_t>(at - op.axes.begin());
    }
    return true;
  }

  static bool same_place(const ir::Load& a, const ir::Load& b) {
    for (size_t d = 0; d < a.indices.size(); ++d) {
      if (!a.indices[d].same_as(b.indices[d])) return false;
    }
    return true;
  }

  const ComputeDag& dag_;
  Attention a_;
};

}  // namespace

bool Attention::is_moved(const Tensor& t) const {
  return std::any_of(moves.begin(), moves.end(),
                     [&](const ComputeOp* op) { return op->output.same_as(t); });
}

std::optional<Attention> find_attention(const ComputeDag& dag) { return Finder(dag).run(); }

ComputeDag with_single_moves(const ComputeDag& dag) {
  const auto moves = [](const ComputeOp& op) { return op.body.as<ir::Load>() != nullptr; };
  return inlined(dag, [&](const ComputeOp& op) {
    const auto readers = dag.readers(op.output);
    return moves(op) && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(),
                       [&](const ComputeOp* r) { return !r->is_reduction() && moves(*r); });
  });
}

}  // namespace tenon::te
