// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/rewriter.h"

namespace tenon::graph {

void Rewriter::look() {
  producers_ = g_.producers();
  readers_ = g_.readers();
}

Node* Rewriter::producer(ValueId v) const {
  const NodeId p = producers_[static_cast<size_t>(v)];
  return p < 0 ? nullptr : &g_.nodes[static_cast<size_t>(p)];
}

std::optional<size_t> Rewriter::only_reader(ValueId v) const {
  const auto& readers = readers_[static_cast<size_t>(v)];
  if (readers.size() != 1 || g_.is_output(v)) return std::nullopt;
  return static_cast<size_t>(readers[0]);
}

Compute Rewriter::map_at_shape(const Node& map, const Shape& to, const Places& places) const {
  const te::ComputeDag& dag = *std::get<Compute>(map.op).dag;
  te::Builder b;
  std::vector<te::Tensor> in;
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    const te::Tensor& t = dag.inputs[i].tensor;
    const bool one = value(map.inputs[i]).constant();
    in.push_back(b.input("x" + std::to_string(i), t.dtype(), one ? t.shape() : to));
  }
  b.output(b.compute(map.label, to, [&](std::span<const ir::Var> axes) -> ir::Expr {
    const ir::Expr body = ir::substitute(dag.ops[0]->body, places(*dag.ops[0], axes));
    return ir::rewrite(body, [&](const ir::Expr& e) -> ir::Expr {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr) return e;
      for (size_t i = 0; i < in.size(); ++i) {
        if (!l->buffer.same_as(dag.inputs[i].tensor)) continue;
        if (!value(map.inputs[i]).constant())
          return ir::load(in[i], std::vector<ir::Expr>(axes.begin(), axes.end()));
        return ir::load(in[i], std::vector<ir::Expr>(in[i].rank(), ir::Expr(0)));
      }
      return e;
    });
  }));
  return {std::make_shared<const te::ComputeDag>(b.finish(map.label))};
}

}  // namespace tenon::graph
