// SPDX-License-Identifier: Apache-2.0
// (x * c) y  ->  (x y) * c  for matrix products and one constant c: behind the product the scale is part of its epilogue.
#include <optional>

#include "graph/passes.h"
#include "te/ops.h"

namespace tenon::graph {
namespace {

// The operand of n that is not constant, where n is x * c, c * x or x / c with one constant of one element.
std::optional<size_t> scaled_operand(const Graph& g, const Node& n) {
  const auto* c = std::get_if<Compute>(&n.op);
  if (c == nullptr || c->dag->ops.size() != 1 || n.inputs.size() != 2) return std::nullopt;
  const size_t x = g.value(n.inputs[0]).constant() ? 1 : 0;
  const Value& factor = g.value(n.inputs[1 - x]);
  const Value& from = g.value(n.inputs[x]);
  const bool wide = from.dtype == ir::kF32 || from.dtype == ir::kF64;  // narrow ones could overflow
  if (from.constant() || !factor.constant() || factor.elements() != 1 || !wide ||
      from.shape != g.value(n.outputs[0]).shape)
    return std::nullopt;
  const auto* b = c->dag->ops[0]->body.as<ir::Binary>();
  if (b == nullptr || b->a.as<ir::Load>() == nullptr || b->b.as<ir::Load>() == nullptr)
    return std::nullopt;
  const bool first = b->a.as<ir::Load>()->buffer.same_as(c->dag->inputs[x].tensor);
  const bool divides = b->op == ir::BinaryOp::kDiv && first;
  if (b->op != ir::BinaryOp::kMul && !divides) return std::nullopt;
  return x;
}

class Delay {
 public:
  explicit Delay(Graph& g) : g_(g) { look(); }

  // Whether something was found; then more may be once what is dead is gone.
  bool run() {
    bool any = false;
    const size_t count = g_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      if (!std::holds_alternative<MatMul>(g_.nodes[n].op)) continue;
      for (const size_t side : {size_t{0}, size_t{1}}) any = delay(n, side) || any;
    }
    return any;
  }

 private:
  void look() {
    producers_ = g_.producers();
    readers_ = g_.readers();
  }

  bool delay(size_t product, size_t side) {
    const ValueId scaled = g_.nodes[product].inputs[side];
    const NodeId p = producers_[static_cast<size_t>(scaled)];
    // Beside a constant the scale belongs into the weights, and what others read is computed anyway.
    if (p < 0 || g_.value(g_.nodes[product].inputs[1 - side]).constant() ||
        readers_[static_cast<size_t>(scaled)].size() != 1 || g_.is_output(scaled))
      return false;
    const Node scale = g_.nodes[static_cast<size_t>(p)];
    const auto x = scaled_operand(g_, scale);
    const ValueId y = g_.nodes[product].outputs[0];
    const Value of = g_.value(y);
    if (!x || g_.value(scale.inputs[1 - *x]).shape.size() > of.shape.size()) return false;
    const ValueId behind = g_.add_value({of.name + ".scaled", of.dtype, of.shape, nullptr});
    g_.replace_uses(y, behind);
    g_.nodes[product].inputs[side] = scale.inputs[*x];
    std::vector<ValueId> inputs = scale.inputs;
    inputs[*x] = y;
    g_.nodes.push_back({at_shape(scale, *x, of), inputs, {behind}, scale.label, scale.nodes});
    look();
    return true;
  }

  // The same scale of a tensor of another shape.
  Compute at_shape(const Node& scale, size_t x, const Value& of) const {
    const te::ComputeDag& dag = *std::get<Compute>(scale.op).dag;
    const auto op = dag.ops[0]->body.as<ir::Binary>()->op;
    te::Builder b;
    std::vector<te::Tensor> in;
    for (size_t i = 0; i < 2; ++i) {
      const te::Tensor& t = dag.inputs[i].tensor;
      in.push_back(b.input("x" + std::to_string(i), t.dtype(), i == x ? of.shape : t.shape()));
    }
    const bool swapped =
        !dag.ops[0]->body.as<ir::Binary>()->a.as<ir::Load>()->buffer.same_as(dag.inputs[0].tensor);
    b.output(te::elementwise(b, scale.label, in, [&](std::span<const ir::Expr> e) {
      const ir::Expr& l = e[swapped ? 1 : 0];
      const ir::Expr& r = e[swapped ? 0 : 1];
      return op == ir::BinaryOp::kDiv ? l / r : l * r;
    }));
    return {std::make_shared<const te::ComputeDag>(b.finish(scale.label))};
  }

  Graph& g_;
  std::vector<NodeId> producers_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

void delay_scales(Graph& g, const PassContext&) {
  while (Delay(g).run()) g.compact();
}

}  // namespace tenon::graph
