// SPDX-License-Identifier: Apache-2.0
#include "graph/passes.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/partition.h"
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

// x -> pad -> conv, twice: the border becomes the convolutions' own, and what else reads it keeps it.
TEST(FoldPadding, BecomesThatOfTheConvolution) {
  for (const bool shared : {false, true}) {
    Graph g;
    GraphBuilder b(g);
    const ValueId x = b.input("x", ir::kF32, {1, 3, 5, 4});
    const auto pad = [&](double value) {
      return b.compute("pad", {x}, [&](te::Builder& t, std::span<const te::Tensor> in) {
        return te::pad(t, "pad", in[0], {0, 0, 1, 2}, {0, 0, 0, 3}, value);
      });
    };
    const ValueId p = pad(0);
    te::ConvParams own;
    own.pad_before = {1, 0};
    own.pad_after = {1, 1};
    g.add_output(b.add("conv", Conv{own}, {p, b.constant(filled({2, 3, 3, 3}, -1, 0.1))}), "y");
    g.add_output(b.add("conv", Conv{}, {p, b.constant(filled({4, 3, 1, 2}, -1, 0.1))}), "z");
    if (shared)
      g.add_output(b.elementwise("double", {p}, [](Exprs e) { return e[0] + e[0]; }), "u");
    // Ones around the image are no padding.
    g.add_output(b.add("conv", Conv{}, {pad(1), b.constant(filled({2, 3, 3, 3}, -1, 0.1))}), "v");
    Rng rng(1);
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    optimize(g, {}, {.skip = {}, .verify = true, .watch = {}});
    EXPECT_EQ(g.nodes.size(), shared ? 6u : 4u) << to_string(g);
    EXPECT_LT(compare(expected, evaluate(g, inputs)).error, 1e-6);
    if (shared) continue;
    const auto* conv = std::get_if<Conv>(&g.nodes[0].op);
    ASSERT_NE(conv, nullptr) << to_string(g);
    EXPECT_EQ(conv->params.pad_before, (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(conv->params.pad_after, (std::vector<int64_t>{1, 4}));
  }
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

// A residual sum behind a view of the product joins it; one whose dimensions differ otherwise does not.
TEST(SinkReshapes, AResidualSumFollowsItsProduct) {
  for (const bool ones : {true, false}) {
    Graph g;
    GraphBuilder b(g);
    const Shape shape = ones ? Shape{1, 6, 4} : Shape{2, 3, 4};
    const ValueId x = b.input("x", ir::kF32, {6, 5});
    const ValueId r = b.input("r", ir::kF32, shape);
    const auto add = [](Exprs e) { return e[0] + e[1]; };
    ValueId y = b.add("matmul", MatMul{}, {x, b.constant(filled({5, 4}, -1, 0.1))});
    y = b.elementwise("bias", {b.constant(filled({4}, 1, 1)), y}, add);
    g.add_output(b.elementwise("add", {b.reshape(y, shape), r}, add), "y");
    Rng rng(3);
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    sink_reshapes(g, {});
    g.verify();
    EXPECT_EQ(compare(expected, evaluate(g, inputs)).error, 0);
    EXPECT_EQ(std::holds_alternative<Reshape>(g.nodes.back().op), ones) << to_string(g);
  }
}

// Several maps in a row, one that looks at the position, and constants of one element in any rank.
TEST(SinkReshapes, AllMapsFollowTheirProduct) {
  for (const Shape& shape : {Shape{1, 6, 4}, Shape{6, 1, 1, 4}}) {
    Graph g;
    GraphBuilder b(g);
    const ValueId x = b.input("x", ir::kF32, {6, 5});
    ValueId y = b.add("matmul", MatMul{}, {x, b.constant(filled({5, 4}, -1, 0.1))});
    y = b.elementwise("add", {b.reshape(y, shape), b.input("r", ir::kF32, shape)},
                      [](Exprs e) { return e[0] + e[1]; });
    y = b.compute("triangle", {y}, [&](te::Builder& t, std::span<const te::Tensor> in) {
      return t.compute("triangle", shape, [&](std::span<const ir::Var> at) {
        const std::vector<ir::Expr> own(at.begin(), at.end());
        const ir::Expr row = shape[0] == 1 ? own[1] : own[0];
        return ir::select(ir::le(own.back(), row), ir::load(in[0], own),
                          ir::make_float(ir::kF32, 0));
      });
    });
    y = b.elementwise("mul", {y, b.constant(filled({1, 1}, 3, 0))},
                      [](Exprs e) { return e[0] * e[1]; });
    g.add_output(y, "y");
    Rng rng(5);
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    sink_reshapes(g, {});
    g.verify();
    EXPECT_EQ(compare(expected, evaluate(g, inputs)).error, 0);
    size_t flat = 0;
    for (const Node& n : g.nodes) {
      const bool map = std::holds_alternative<Compute>(n.op);
      flat += map && g.value(n.outputs[0]).shape == Shape{6, 4} ? 1U : 0U;
    }
    EXPECT_EQ(flat, 3U) << to_string(g);
  }
}

// One element in all: the constant has the shape of the map and keeps it.
TEST(SinkReshapes, OfOneElement) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {1, 5});
  const ValueId y = b.add("matmul", MatMul{}, {x, b.constant(filled({5, 1}, -1, 0.1))});
  g.add_output(b.elementwise("mul", {b.reshape(y, {1}), b.constant(filled({1}, 3, 0))},
                             [](Exprs e) { return e[0] * e[1]; }),
               "y");
  Rng rng(6);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  sink_reshapes(g, {});
  g.verify();
  EXPECT_EQ(compare(expected, evaluate(g, inputs)).error, 0);
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

// What a known scalar decides is never read goes, with everything that only it needed.
TEST(FoldConstants, DropsWhatConstantsMakeUnread) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {3, 5});
  const ValueId n = b.input("n", ir::kI64, {5});
  const ValueId p = b.input("p", ir::kBool, {5});
  const auto where = [&](ValueId c, ValueId t, ValueId f) {
    return b.elementwise("where", {c, t, f}, [](Exprs e) { return ir::select(e[0], e[1], e[2]); });
  };
  const auto boolean = [&](bool v) { return b.scalar(ir::kBool, v ? 1 : 0); };
  const ValueId a =
      b.elementwise("add", {x}, [](Exprs e) { return e[0] + ir::make_float(ir::kF32, 1); });
  g.add_output(where(boolean(false), a, x), "kept");
  const ValueId always = b.elementwise("or", {p, boolean(true)}, [](Exprs e) {
    return ir::make_binary(ir::BinaryOp::kOr, e[0], e[1]);
  });
  g.add_output(always, "always");
  const ValueId zero =
      b.elementwise("mul", {n, b.scalar(ir::kI64, 0)}, [](Exprs e) { return e[0] * e[1]; });
  g.add_output(b.elementwise("sum", {n, zero}, [](Exprs e) { return e[0] + e[1]; }), "sum");
  Rng rng(5);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  optimize(g, {}, {.skip = {}, .verify = true, .watch = {}});
  EXPECT_EQ(compare(expected, evaluate(g, inputs)).error, 0);
  for (const Node& node : g.nodes) {
    EXPECT_NE(node.label, "add") << to_string(g);
    EXPECT_NE(node.label, "mul") << to_string(g);
    EXPECT_NE(node.label, "or") << to_string(g);
  }
}

// The same where nothing was optimised before: a fused group writes scalars into its ops itself.
TEST(Partition, DropsOpsThatConstantsMakeUnread) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {3, 5});
  const ValueId a =
      b.elementwise("add", {x}, [](Exprs e) { return e[0] + ir::make_float(ir::kF32, 1); });
  const ValueId y = b.elementwise("where", {b.scalar(ir::kBool, 0), a, x},
                                  [](Exprs e) { return ir::select(e[0], e[1], e[2]); });
  g.add_output(y, "y");
  for (const bool fuse : {false, true}) {
    const Partition p = partition(g, {fuse, {}});
    for (const Computation& t : p.tasks) EXPECT_NO_THROW(t.dag->validate());
    EXPECT_EQ(p.calls.back().inputs, std::vector<ValueId>{x});
  }
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
