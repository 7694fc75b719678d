// SPDX-License-Identifier: Apache-2.0
#include "graph/literals.h"

#include <algorithm>
#include <unordered_set>

#include "ir/visit.h"

namespace tenon::graph {

ir::Expr literal(const ir::Array& scalar) {
  const ir::Scalar s = scalar.get(0);
  return scalar.dtype().is_float() ? ir::make_float(scalar.dtype(), s.f)
                                   : ir::make_int(scalar.dtype(), s.i);
}

void write_literals(te::ComputeDag& dag, const Literals& literals) {
  if (literals.empty()) return;
  for (te::OpRef& op : dag.ops) {
    const ir::Expr body = ir::rewrite(op->body, [&](const ir::Expr& e) -> ir::Expr {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr) return e;
      const auto it = literals.find(l->buffer.get());
      return it == literals.end() ? e : it->second;
    });
    if (body.same_as(op->body)) continue;
    auto copy = std::make_shared<te::ComputeOp>(*op);
    copy->body = body;
    op = copy;
  }
}

std::vector<size_t> drop_unread(te::ComputeDag& dag) {
  std::unordered_set<const ir::BufferNode*> needed;
  for (const te::Tensor& t : dag.outputs) needed.insert(t.get());
  std::vector<te::OpRef> ops;
  for (auto op = dag.ops.rbegin(); op != dag.ops.rend(); ++op) {
    if (!needed.contains((*op)->output.get())) continue;
    ir::visit((*op)->body, [&](const ir::Expr& e) {
      if (const auto* l = e.as<ir::Load>()) needed.insert(l->buffer.get());
    });
    ops.push_back(*op);
  }
  std::reverse(ops.begin(), ops.end());
  dag.ops = std::move(ops);
  std::vector<te::Input> inputs;
  std::vector<size_t> kept;
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    if (!needed.contains(dag.inputs[i].tensor.get())) continue;
    inputs.push_back(dag.inputs[i]);
    kept.push_back(i);
  }
  dag.inputs = std::move(inputs);
  return kept;
}

}  // namespace tenon::graph
