// SPDX-License-Identifier: Apache-2.0
#include "te/row_operand.h"

#include <algorithm>

#include "ir/visit.h"

namespace tenon::te {

namespace {

// The only sum of products that reuses what it reads.
const ComputeOp* find_product(const ComputeDag& dag) {
  const ComputeOp* found = nullptr;
  for (const OpRef& op : dag.ops) {
    if (!op->is_reduction() || !has_data_reuse(*op)) continue;
    if (found != nullptr) return nullptr;
    found = op.get();
  }
  if (found == nullptr || found->combiner != ir::BinaryOp::kAdd || found->reduce_axes.size() != 1)
    return nullptr;
  const auto* product = found->body.as<ir::Binary>();
  const bool of_loads = product != nullptr && product->op == ir::BinaryOp::kMul &&
                        product->a.as<ir::Load>() != nullptr &&
                        product->b.as<ir::Load>() != nullptr;
  return of_loads ? found : nullptr;
}

// Everything that P is computed from, P last.
std::vector<OpRef> all_before(const ComputeDag& dag, const Tensor& p) {
  std::vector<OpRef> ops;
  std::vector<Tensor> wanted{p};
  for (auto it = dag.ops.rbegin(); it != dag.ops.rend(); ++it) {
    const bool needed = std::any_of(wanted.begin(), wanted.end(),
                                    [&](const Tensor& t) { return t.same_as((*it)->output); });
    if (!needed) continue;
    ops.insert(ops.begin(), *it);
    for (const Access& a : accesses(**it)) wanted.push_back(a.tensor);
  }
  return ops;
}

// P[.., k] at the product's own leading axes, in order.
bool reads_rows(const ComputeOp& product, const Access& x) {
  const size_t rank = x.indices.size();
  if (rank < 2 || rank != product.axes.size() ||
      !x.indices.back().same_as(product.reduce_axes[0].var))
    return false;
  for (size_t d = 0; d + 1 < rank; ++d) {
    const bool one = product.axes[d].extent == 1 && ir::is_const(x.indices[d], 0);
    if (!x.indices[d].same_as(product.axes[d].var) && !one) return false;
    if (product.axes[d].extent != x.tensor.shape()[d]) return false;
  }
  return true;
}

// What the ops read of each other lies in the same row, and nothing behind them reads it.
bool stays_in_rows(const ComputeDag& dag, const RowOperand& r) {
  const ComputeOp& last = *r.rows.back();
  const auto is_row = [&](const ComputeOp* op) {
    return std::any_of(r.rows.begin(), r.rows.end(), [&](const OpRef& o) { return o.get() == op; });
  };
  for (const OpRef& op : r.rows) {
    if (op->axes.size() + 1 < last.axes.size() || op->output.dtype() != last.output.dtype())
      return false;
    for (size_t d = 0; d + 1 < last.axes.size(); ++d) {
      if (op->axes[d].extent != last.axes[d].extent) return false;
    }
    for (const ComputeOp* reader : dag.readers(op->output)) {
      if (op.get() == &last ? reader != r.product : !is_row(reader)) return false;
    }
    for (const Access& a : accesses(*op)) {
      if (!a.affine) return false;
      if (dag.producer(a.tensor) == nullptr) continue;
      for (size_t d = 0; d + 1 < last.axes.size(); ++d) {
        if (!a.indices[d].same_as(op->axes[d].var) && op->axes[d].extent != 1) return false;
      }
    }
  }
  return true;
}

// One number per row is summed over one axis; nothing is kept of it but a dimension of 1.
bool reduces_rows(const RowOperand& r) {
  const size_t rank = r.rows.back()->axes.size();
  bool any = false;
  for (const OpRef& op : r.rows) {
    if (!op->is_reduction()) continue;
    any = true;
    if (op->reduce_axes.size() != 1 || op->axes.size() > rank) return false;
    if (op->axes.size() == rank && op->axes.back().extent != 1) return false;
  }
  return any;
}

bool is_constant(const ComputeDag& dag, const Tensor& t) {
  return std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [&](const Input& in) { return in.constant && in.tensor.same_as(t); });
}

}  // namespace

std::optional<RowOperand> find_row_operand(const ComputeDag& dag) {
  RowOperand r;
  r.product = dag.outputs.size() == 1 ? find_product(dag) : nullptr;
  if (r.product == nullptr) return std::nullopt;
  auto both = accesses(*r.product);
  if (both.size() != 2) return std::nullopt;
  if (is_constant(dag, both[0].tensor)) std::swap(both[0], both[1]);
  const ComputeOp* p = dag.producer(both[0].tensor);
  if (p == nullptr || p->is_reduction() || !is_constant(dag, both[1].tensor) ||
      !reads_rows(*r.product, both[0]))
    return std::nullopt;
  r.w = both[1].tensor;
  r.rows = all_before(dag, p->output);
  if (!stays_in_rows(dag, r) || !reduces_rows(r)) return std::nullopt;
  return r;
}

}  // namespace tenon::te
