// SPDX-License-Identifier: Apache-2.0
// What convolutions take in beside their epilogues: scales of their input's channels.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/partition.h"
#include "graph/passes.h"
#include "graph/random_graph.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

// conv(x * s, w) with a factor for each channel, which is computed from x.
Graph excited(const Shape& x_shape, int64_t out) {
  Rng rng(8);
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, x_shape);
  const ValueId sum = b.compute("sum", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
    return te::reduce_dims(t, "sum", in[0], ir::BinaryOp::kAdd, {2, 3}, true);
  });
  const ValueId s = b.elementwise(
      "sigmoid", {sum}, [](Exprs e) { return ir::call(ir::Intrinsic::kSigmoid, {e[0]}); });
  const ValueId y = b.elementwise("mul", {s, x}, [](Exprs e) { return e[0] * e[1]; });
  const ValueId w = b.constant(random_array(rng, ir::kF32, {out, x_shape[1], 1, 1}));
  g.add_output(b.add("conv", Conv{}, {y, w}), "y");
  g.compact();
  return g;
}

TEST(ScaleWeights, FactorsOfChannelsGoOverTheWeights) {
  Graph g = excited({1, 6, 5, 7}, 4);
  Rng rng(1);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  scale_weights(g, {});
  g.verify();
  for (const Node& n : g.nodes) {
    if (!std::holds_alternative<Conv>(n.op)) continue;
    EXPECT_EQ(n.inputs[0], g.inputs[0]) << to_string(g);
    EXPECT_FALSE(g.value(n.inputs[1]).constant());
  }
  EXPECT_LT(compare(expected, evaluate(g, inputs)).error, 1e-6);
  const Partition p = partition(g);
  EXPECT_EQ(p.calls.size(), 2U) << to_string(g);  // the factors; the convolution with its weights
}

// Several images have factors of their own; with as many weights as activations nothing is saved.
TEST(ScaleWeights, OtherScalesStay) {
  for (const Shape& shape : {Shape{2, 6, 5, 7}, Shape{1, 6, 3, 5}}) {
    Graph g = excited(shape, 4);
    const std::string before = to_string(g);
    scale_weights(g, {});
    EXPECT_EQ(to_string(g), before);
  }
}

}  // namespace
}  // namespace tenon::graph
