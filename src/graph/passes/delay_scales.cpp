// SPDX-License-Identifier: Apache-2.0
// (x * c) y  ->  (x y) * c  for matrix products and one constant c: behind the product the scale is part of its epilogue.
#include <optional>
#include <unordered_map>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"

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

// Products that one scale may be carried behind, and scales in front of one product: every scale of a chain of products
// would otherwise pass all of those behind it.
constexpr int kMostPassed = 4;

class Delay : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) {
      if (!std::holds_alternative<MatMul>(g_.nodes[n].op)) return false;
      int times = 0;
      while (times < kMostPassed && (delay(n, 0) || delay(n, 1))) ++times;
      return times > 0;
    });
  }

 private:
  bool delay(size_t product, size_t side) {
    const ValueId scaled = g_.nodes[product].inputs[side];
    const Node* p = producer(scaled);
    // Beside a constant the scale belongs into the weights, and what others read is computed anyway.
    if (p == nullptr || value(g_.nodes[product].inputs[1 - side]).constant() || !read_once(scaled))
      return false;
    const Node scale = *p;
    const auto x = scaled_operand(g_, scale);
    const ValueId y = g_.nodes[product].outputs[0];
    const Value of = value(y);
    if (!x || shape(scale.inputs[1 - *x]).size() > of.shape.size()) return false;
    const int passed = passed_[scaled] + 1;
    if (passed > kMostPassed) return false;
    const ValueId behind = add_value({of.name + ".scaled", of.dtype, of.shape, nullptr});
    passed_[behind] = passed;
    replace_uses(y, behind);
    std::vector<ValueId> inputs = scale.inputs;
    inputs[*x] = y;
    const auto nowhere = [](const auto&...) { return ir::VarMap(); };  // it uses no axis
    add_node({map_at_shape(scale, of.shape, nowhere), inputs, {behind}, scale.label, scale.nodes});
    std::vector<ValueId> operands = g_.nodes[product].inputs;
    operands[side] = scale.inputs[*x];
    set_inputs(product, std::move(operands));
    return true;
  }

  std::unordered_map<ValueId, int> passed_;  // products, by the value that the scale now makes
};

}  // namespace

void delay_scales(Graph& g, const PassContext&) {
  if (Delay(g).run()) g.compact();
}

}  // namespace tenon::graph
