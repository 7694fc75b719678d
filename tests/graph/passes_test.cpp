// SPDX-License-Identifier: Apache-2.0
#include "graph/passes.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/random_graph.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

// Every pass alone, then all of them, on random graphs.
TEST(Passes, KeepTheAnswerOfRandomGraphs) {
  const uint64_t seed = 20261115;
  SCOPED_TRACE(seed);
  for (uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    Rng rng(seed + i);
    Graph g = random_graph(rng, 12);
    g.compact();
    ASSERT_NO_THROW(g.verify());
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    for (const Pass& p : passes()) {
      Graph one = g;
      p.run(one, {});
      ASSERT_NO_THROW(one.verify()) << p.name;
      const Difference d = compare(expected, evaluate(one, inputs));
      ASSERT_LT(d.error, 1e-5) << p.name << ": " << d.where << "\n"
                               << to_string(g) << to_string(one);
    }
    Graph all = g;
    optimize(all, {}, {.skip = {}, .verify = true, .watch = {}});
    const Difference d = compare(expected, evaluate(all, inputs));
    ASSERT_LT(d.error, 1e-5) << d.where;
  }
}

ir::Array filled(const Shape& shape, double first, double step) {
  ir::Array a(ir::kF32, shape);
  for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, first + step * static_cast<double>(i));
  return a;
}

TEST(FoldScales, MovesABatchNormIntoTheWeights) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {1, 3, 5, 5});
  const ValueId w = b.constant(filled({4, 3, 3, 3}, -1, 0.02));
  ValueId y = b.add("conv", Conv{}, {x, w});
  y = b.elementwise("add", {y, b.constant(filled({4, 1, 1}, 1, 1))},
                    [](Exprs e) { return e[0] + e[1]; });
  y = b.elementwise("batch_norm",
                    {y, b.constant(filled({4, 1, 1}, 2, 1)), b.constant(filled({4, 1, 1}, 3, 1))},
                    [](Exprs e) { return e[0] * e[1] + e[2]; });
  g.add_output(y, "y");
  optimize(g);
  ASSERT_EQ(g.nodes.size(), 2u) << to_string(g);
  EXPECT_TRUE(std::holds_alternative<Conv>(g.nodes[0].op));
  EXPECT_EQ(g.nodes[1].label, "bias");
  // Channel 1: scale 3, so its first weight -1 + 27 * 0.02 is tripled; shift 2 * 3 + 4.
  EXPECT_NEAR(g.value(g.nodes[0].inputs[1]).data->get_double(27), 3 * (-1 + 27 * 0.02), 1e-6);
  EXPECT_NEAR(g.value(g.nodes[1].inputs[1]).data->get_double(1), 10, 1e-6);
}

TEST(SimplifyMoves, DropsPairsAndKeepsOutputs) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {2, 3, 5});
  const ValueId y = b.transpose(b.transpose(x, {2, 0, 1}), {1, 2, 0});
  g.add_output(y, "same");
  g.add_output(b.reshape(b.reshape(x, {6, 5}), {30}), "flat");
  g.add_output(b.transpose(b.reshape(x, {2, 1, 15}), {1, 0, 2}), "moved_ones");
  optimize(g);
  EXPECT_EQ(g.outputs[0], g.inputs[0]);
  EXPECT_EQ(g.output_names[0], "same");
  ASSERT_EQ(g.nodes.size(), 2u) << to_string(g);
  for (const Node& n : g.nodes) EXPECT_TRUE(std::holds_alternative<Reshape>(n.op));
}

TEST(MergeEqual, ComputesEqualNodesOnce) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {2, 3});
  const auto twice = [](Exprs e) { return e[0] + e[0]; };
  const ValueId a = b.elementwise("twice", {x}, twice);
  const ValueId c = b.elementwise("twice", {x}, twice);
  g.add_output(b.elementwise("add", {a, c}, [](Exprs e) { return e[0] * e[1]; }), "y");
  optimize(g);
  EXPECT_EQ(g.nodes.size(), 2u) << to_string(g);
}

TEST(FoldConstants, ShapeArithmeticFoldsWhileItIsWritten) {
  Graph g;
  GraphBuilder b(g);
  const ValueId n = b.ints({2, 3});
  const ValueId m = b.elementwise("mul", {n, b.ints({5, 7})}, [](Exprs e) { return e[0] * e[1]; });
  ASSERT_NE(b.data(m), nullptr);
  EXPECT_EQ(b.data(m)->get(1).i, 21);
  EXPECT_TRUE(g.nodes.empty());
}

}  // namespace
}  // namespace tenon::graph
