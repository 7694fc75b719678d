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

struct Transposed {
  Shape x, w;
  ConvTranspose op;
};

Graph graph_of(const Transposed& t) {
  Rng rng(9);
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, t.x);
  const ValueId w = b.constant(random_array(rng, ir::kF32, t.w));
  g.add_output(b.add("conv_transpose", t.op, {x, w}), "y");
  g.compact();
  return g;
}

ConvTranspose by(const Shape& stride, const Shape& before = {}, const Shape& after = {}) {
  ConvTranspose op;
  const Shape none(stride.size(), 0);
  op.params.stride = stride;
  op.params.dilation.assign(stride.size(), 1);
  op.params.pad_before = before.empty() ? none : before;
  op.params.pad_after = after.empty() ? none : after;
  op.output_pad = none;
  return op;
}

bool is_transposed(const Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(),
                     [](const Node& n) { return std::holds_alternative<ConvTranspose>(n.op); });
}

TEST(WidenTransposed, PhasesSideBySideGiveTheSame) {
  const Transposed cases[] = {
      {{1, 128, 3, 4}, {128, 5, 2, 2}, by({2, 2})},
      {{2, 130, 3, 2}, {130, 4, 4, 4}, by({2, 2}, {1, 1}, {1, 1})},
      {{1, 128, 2, 3}, {128, 6, 2, 6}, by({1, 3}, {0, 2}, {1, 0})},
      {{1, 128, 5}, {128, 7, 6}, by({3}, {1}, {4})},
      {{1, 128, 2, 1, 2}, {128, 4, 2, 3, 4}, by({2, 3, 2})},
  };
  Rng rng(2);
  for (const Transposed& t : cases) {
    Graph g = graph_of(t);
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    widen_transposed(g, {});
    g.verify();
    EXPECT_FALSE(is_transposed(g)) << to_string(g);
    EXPECT_LT(compare(expected, evaluate(g, inputs)).error, 1e-6) << to_string(g);
  }
}

TEST(WidenTransposed, OthersStay) {
  Transposed grouped{{1, 128, 3, 3}, {128, 5, 2, 2}, by({2, 2})};
  grouped.op.params.groups = 2;
  Transposed dilated{{1, 128, 3, 3}, {128, 5, 2, 2}, by({2, 2})};
  dilated.op.params.dilation = {2, 1};
  Transposed longer{{1, 128, 3, 3}, {128, 5, 2, 2}, by({2, 2})};
  longer.op.output_pad = {1, 0};
  const Transposed cases[] = {
      grouped,
      dilated,
      longer,
      {{1, 128, 3, 3}, {128, 5, 3, 3}, by({2, 2})},   // phases of unequal taps
      {{1, 128, 3, 3}, {128, 16, 2, 2}, by({2, 2})},  // full vectors
      {{1, 128, 3, 3}, {128, 3, 2, 2}, by({2, 2})},   // vectors of columns
      {{1, 32, 3, 3}, {32, 5, 2, 2}, by({2, 2})},     // the move would cost as much
      {{1, 128, 3, 3}, {128, 5, 1, 1}, by({1, 1})},   // no phases
  };
  for (const Transposed& t : cases) {
    Graph g = graph_of(t);
    widen_transposed(g, {});
    EXPECT_TRUE(is_transposed(g)) << to_string(g);
  }
}

}  // namespace
}  // namespace tenon::graph
