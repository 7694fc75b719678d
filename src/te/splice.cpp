// SPDX-License-Identifier: Apache-2.0
#include "te/splice.h"

#include <algorithm>
#include <unordered_map>

#include "arith/simplify.h"
#include "ir/visit.h"

namespace tenon::te {
namespace {

using TensorMap = std::unordered_map<const ir::BufferNode*, Tensor>;

std::vector<Axis> fresh(const std::vector<Axis>& axes, ir::VarMap& vars) {
  std::vector<Axis> out;
  for (const Axis& a : axes) {
    out.push_back({ir::Var(a.var.name()), a.extent});
    vars.emplace(a.var.node(), out.back().var);
  }
  return out;
}

ir::Expr with_tensors(const ir::Expr& e, const TensorMap& tensors) {
  return ir::rewrite(e, [&](const ir::Expr& x) -> ir::Expr {
    const auto* l = x.as<ir::Load>();
    if (l == nullptr) return x;
    const auto it = tensors.find(l->buffer.get());
    return it == tensors.end() ? x : ir::load(it->second, l->indices, l->predicate);
  });
}

// The body of `op` at the indices of a read of its output.
ir::Expr body_at(const ComputeOp& op, const std::vector<ir::Expr>& indices) {
  ir::VarMap map;
  for (size_t d = 0; d < op.axes.size(); ++d) map.emplace(op.axes[d].var.node(), indices[d]);
  return ir::substitute(op.body, map);
}

bool is_output(const ComputeDag& dag, const Tensor& t) {
  return std::any_of(dag.outputs.begin(), dag.outputs.end(),
                     [&](const Tensor& o) { return o.same_as(t); });
}

}  // namespace

std::vector<Tensor> splice(Builder& b, const ComputeDag& dag, std::span<const Tensor> inputs,
                           const std::function<std::string(const ComputeOp&)>& name) {
  TENON_CHECK(inputs.size() == dag.inputs.size())
      << inputs.size() << " tensors for " << dag.inputs.size() << " inputs";
  TensorMap tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& own = dag.inputs[i].tensor;
    TENON_CHECK(own.shape() == inputs[i].shape() && own.dtype() == inputs[i].dtype())
        << inputs[i].name() << " does not fit input " << own.name();
    tensors.emplace(own.get(), inputs[i]);
  }
  for (const OpRef& op : dag.ops) {
    ComputeOp copy;
    ir::VarMap vars;
    copy.axes = fresh(op->axes, vars);
    copy.reduce_axes = fresh(op->reduce_axes, vars);
    copy.combiner = op->combiner;
    copy.body = with_tensors(ir::substitute(op->body, vars), tensors);
    copy.output = Tensor::make(name(*op), op->output.dtype(), op->output.shape());
    tensors.emplace(op->output.get(), copy.output);
    b.add(std::move(copy));
  }
  std::vector<Tensor> outputs;
  for (const Tensor& t : dag.outputs) outputs.push_back(tensors.at(t.get()));
  return outputs;
}

ComputeDag inlined(const ComputeDag& dag, const std::function<bool(const ComputeOp&)>& pick) {
  ComputeDag out;
  out.name = dag.name;
  out.inputs = dag.inputs;
  out.outputs = dag.outputs;
  std::unordered_map<const ir::BufferNode*, OpRef> gone;
  for (const OpRef& op : dag.ops) {
    bool changed = false;
    ir::Expr body = ir::rewrite(op->body, [&](const ir::Expr& x) -> ir::Expr {
      const auto* l = x.as<ir::Load>();
      if (l == nullptr) return x;
      const auto it = gone.find(l->buffer.get());
      if (it == gone.end()) return x;
      changed = true;
      return body_at(*it->second, l->indices);
    });
    OpRef now = op;
    if (changed) {
      auto copy = std::make_shared<ComputeOp>(*op);
      copy->body = arith::simplify(body, op->ranges());
      now = copy;
    }
    if (!op->is_reduction() && !is_output(dag, op->output) && pick(*op)) {
      gone.emplace(op->output.get(), now);
    } else {
      out.ops.push_back(now);
    }
  }
  return out;
}

}  // namespace tenon::te
