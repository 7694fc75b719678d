// SPDX-License-Identifier: Apache-2.0
// conv(x * s[c], w)  ->  conv(x, w * s[c])  for pointwise convolutions of one image: the scale of squeeze-and-excite goes
// over the weights, of which there are far fewer than of activations, and takes no pass over memory of its own.
#include <optional>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/ops.h"

namespace tenon::graph {
namespace {

constexpr int64_t kFewer = 4;  // times fewer weights than activations

class ScaleWeights : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) { return is_pointwise(g_.nodes[n]) && rewrite(n); });
  }

 private:
  bool is_pointwise(const Node& n) const {
    const auto* c = std::get_if<Conv>(&n.op);
    if (c == nullptr || c->params.groups != 1 || !g_.value(n.inputs[1]).constant() ||
        g_.value(n.inputs[1]).dtype != ir::kF32)
      return false;
    const Shape& x = shape(n.inputs[0]);
    const Shape& w = shape(n.inputs[1]);
    int64_t positions = 1;
    for (size_t d = 2; d < w.size(); ++d) {
      if (w[d] != 1) return false;
      positions *= x[d];
    }
    return x[0] == 1 && w[0] > 1 && positions >= kFewer * w[0];
  }

  // {x, s} where v is x * s with one factor for each channel, and nothing else reads it.
  std::optional<std::pair<ValueId, ValueId>> scaled(ValueId v) const {
    const Node* p = producer(v);
    if (p == nullptr || !read_once(v)) return std::nullopt;
    const Node& n = *p;
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || n.inputs.size() != 2 || c->dag->ops.size() != 1) return std::nullopt;
    const auto* product = c->dag->ops[0]->body.as<ir::Binary>();
    if (product == nullptr || product->op != ir::BinaryOp::kMul ||
        product->a.as<ir::Load>() == nullptr || product->b.as<ir::Load>() == nullptr)
      return std::nullopt;
    const size_t x = shape(n.inputs[0]) == shape(v) ? 0 : 1;
    Shape per_channel(shape(v).size(), 1);
    per_channel[1] = shape(v)[1];
    if (shape(n.inputs[x]) != shape(v) || shape(n.inputs[1 - x]) != per_channel)
      return std::nullopt;
    return std::pair{n.inputs[x], n.inputs[1 - x]};
  }

  bool rewrite(size_t at) {
    const auto found = scaled(g_.nodes[at].inputs[0]);
    if (!found) return false;
    const ValueId w = g_.nodes[at].inputs[1];
    te::Builder b;
    const te::Tensor weights = b.constant("x0", ir::kF32, shape(w));
    const te::Tensor factors = b.input("x1", ir::kF32, shape(found->second));
    b.output(te::elementwise(b, "scale", {weights, factors},
                             [](std::span<const ir::Expr> e) { return e[0] * e[1]; }));
    const std::vector<std::string> names = producer(g_.nodes[at].inputs[0])->nodes;
    const ValueId to = add_value({g_.value(w).name + ".scaled", ir::kF32, shape(w), nullptr});
    add_node({Compute{std::make_shared<const te::ComputeDag>(b.finish("scale"))},
              {w, found->second},
              {to},
              "scale",
              names});
    set_inputs(at, {found->first, to});
    return true;
  }
};

}  // namespace

void scale_weights(Graph& g, const PassContext&) {
  ScaleWeights(g).run();
  g.compact();
}

}  // namespace tenon::graph
