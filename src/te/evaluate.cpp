// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/interp.h"
#include "support/check.h"
#include "te/dag.h"

namespace tenon::te {
namespace {

ir::Stmt loops_around(const std::vector<Axis>& axes, ir::Stmt body) {
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    body = ir::make_for(a->var, 0, a->extent, ir::ForKind::kSerial, std::move(body));
  }
  return body;
}

// The definition, one element at a time:
//   for i { for j { C[i, j] = 0; for k { C[i, j] = C[i, j] + A[i, k] * B[k, j] } } }
ir::Stmt define(const ComputeOp& op) {
  const std::vector<ir::Expr> at = [&] {
    std::vector<ir::Expr> indices;
    for (const Axis& a : op.axes) {
      indices.emplace_back(a.var);
    }
    return indices;
  }();
  if (!op.is_reduction()) {
    return loops_around(op.axes, ir::store(op.output, at, op.body));
  }
  const ir::Stmt init = ir::store(op.output, at, ir::identity_of(*op.combiner, op.output.dtype()));
  const ir::Stmt update =
      ir::store(op.output, at, ir::make_binary(*op.combiner, ir::load(op.output, at), op.body));
  return loops_around(op.axes, ir::block({init, loops_around(op.reduce_axes, update)}));
}

bool is_output(const ComputeDag& dag, const Tensor& t) {
  for (const Tensor& o : dag.outputs) {
    if (o.same_as(t)) {
      return true;
    }
  }
  return false;
}

}  // namespace

ir::Function reference_function(const ComputeDag& dag) {
  ir::Function f;
  f.name = dag.name;
  f.num_inputs = dag.inputs.size();
  for (const Input& in : dag.inputs) {
    f.params.push_back(in.tensor);
  }
  f.params.insert(f.params.end(), dag.outputs.begin(), dag.outputs.end());
  std::vector<ir::Stmt> stmts;
  for (const OpRef& op : dag.ops) {
    stmts.push_back(define(*op));
  }
  f.body = ir::block(std::move(stmts));
  for (auto op = dag.ops.rbegin(); op != dag.ops.rend(); ++op) {
    if (!is_output(dag, (*op)->output)) {
      f.body = ir::allocate((*op)->output, f.body);
    }
  }
  return f;
}

std::vector<ir::Array> evaluate(const ComputeDag& dag, const std::vector<ir::Array>& inputs) {
  TENON_CHECK(inputs.size() == dag.inputs.size())
      << inputs.size() << " arrays for " << dag.inputs.size() << " inputs";
  std::vector<ir::Array> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = dag.inputs[i].tensor;
    TENON_CHECK(inputs[i].dtype() == t.dtype() && inputs[i].shape() == t.shape())
        << "array " << i << " does not fit input " << t.name();
    args.push_back(inputs[i]);
  }
  for (const Tensor& t : dag.outputs) {
    args.emplace_back(t.dtype(), t.shape());
  }
  ir::interpret(reference_function(dag), args);
  return {std::make_move_iterator(args.begin() + static_cast<std::ptrdiff_t>(inputs.size())),
          std::make_move_iterator(args.end())};
}

}  // namespace tenon::te
