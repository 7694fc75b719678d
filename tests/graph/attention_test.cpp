// SPDX-License-Identifier: Apache-2.0
// Attention becomes one task, and the passes that make it so.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/partition.h"
#include "graph/passes.h"
#include "graph/random_attention.h"
#include "graph/random_graph.h"
#include "te/attention.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

std::string show(const Partition& p) {
  std::string text;
  for (const Call& c : p.calls) {
    for (const te::OpRef& op : p.tasks[static_cast<size_t>(c.task)].dag->ops)
      text += op->name() + " ";
    text += "\n";
  }
  return text;
}

TEST(Attention, IsOneTaskInEveryForm) {
  const uint64_t seed = 31;
  SCOPED_TRACE(seed);
  for (uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    Rng rng(seed + i);
    const AttentionForm form = random_form(rng);
    Graph g = attention_graph(rng, form);
    const auto inputs = random_inputs(rng, g);
    const auto expected = evaluate(g, inputs);
    optimize(g, {}, {.skip = {}, .verify = true, .watch = {}});
    own_outputs(g);
    g.compact();
    const Difference d = compare(expected, evaluate(g, inputs));
    ASSERT_LT(d.error, 1e-5) << d.where << "\n" << to_string(g);
    const Partition p = partition(g);
    const bool found = std::any_of(p.tasks.begin(), p.tasks.end(), [](const Computation& t) {
      return te::find_attention(*t.dag).has_value();
    });
    EXPECT_TRUE(found) << to_string(g) << show(p);
    // One product for the projections, no move left over.
    EXPECT_EQ(p.calls.size(), 2U) << to_string(g) << show(p);
  }
}

TEST(Attention, StaysApartWithFewRows) {
  Rng rng(3);
  AttentionForm form;
  form.tokens = 7;
  Graph g = attention_graph(rng, form);
  optimize(g);
  for (const Computation& t : partition(g).tasks) EXPECT_FALSE(te::find_attention(*t.dag));
}

// Blocks keep rows of scores in shared memory: longer ones stay apart.
TEST(Attention, IsOneTaskOnGpusWhereItsRowsFit) {
  for (const target::Target& t : target::gpu_targets()) {
    for (const int64_t tokens : {128, 197, 4000}) {
      Rng rng(5);
      AttentionForm form;
      form.tokens = tokens;
      form.heads = 3;
      form.depth = 32;
      form.scale = 1;
      form.mask = true;
      Graph g = attention_graph(rng, form);
      optimize(g);
      const Partition p = partition(g, {.limits = t.limits});
      const auto found = std::count_if(p.tasks.begin(), p.tasks.end(), [](const Computation& c) {
        return te::find_attention(*c.dag).has_value();
      });
      EXPECT_EQ(found, tokens < 4000 ? 1 : 0) << t.name << " " << tokens << "\n" << show(p);
      if (tokens < 4000) EXPECT_EQ(p.calls.size(), 2U) << show(p);
    }
  }
}

TEST(ComposeMoves, AReshapedSliceIsOneMove) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {5, 24});
  const ValueId y = b.compute("slice", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
    return te::slice(t, "slice", in[0], {0, 8}, {5, 12});
  });
  const ValueId z = b.transpose(b.reshape(y, {5, 3, 4}), {1, 0, 2});
  g.add_output(z, "z");
  Rng rng(1);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  compose_moves(g, {});
  g.verify();
  ASSERT_EQ(g.nodes.size(), 1U) << to_string(g);
  EXPECT_EQ(compare(expected, evaluate(g, inputs)).error, 0);
}

// What a reshape makes of a transpose cannot be read of the source without division; a slice that others read is made
// anyway, and its reshape stays a view.
TEST(ComposeMoves, LeavesViewsThatAreFree) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {3, 5, 4});
  g.add_output(b.reshape(b.transpose(x, {1, 0, 2}), {15, 4}), "turned");
  const ValueId s = b.compute("slice", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
    return te::slice(t, "slice", in[0], {0, 1, 0}, {3, 2, 4});
  });
  g.add_output(b.reshape(s, {3, 8}), "view");
  g.add_output(b.elementwise("add", {s, s}, [](Exprs e) { return e[0] + e[1]; }), "other");
  const size_t before = g.nodes.size();
  compose_moves(g, {});
  EXPECT_EQ(g.nodes.size(), before) << to_string(g);
  size_t views = 0;
  for (const Node& n : g.nodes) views += std::holds_alternative<Reshape>(n.op) ? 1U : 0U;
  EXPECT_EQ(views, 2U);
}

TEST(MergeProducts, ProjectionsForAttentionAreOne) {
  Rng rng(5);
  AttentionForm form;
  form.heads = 3;
  Graph g = attention_graph(rng, form);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  merge_products(g, {});
  g.verify();
  size_t products = 0, slices = 0;
  for (const Node& n : g.nodes) {
    products += std::holds_alternative<MatMul>(n.op) ? 1U : 0U;
    slices += n.label == "slice" ? 1U : 0U;
  }
  EXPECT_EQ(products, 3U) << to_string(g);  // the projection, scores, the result
  EXPECT_EQ(slices, 3U);
  EXPECT_LT(compare(expected, evaluate(g, inputs)).error, 1e-6);
}

// Layers that go elsewhere keep their own product: a slice would be a step there.
TEST(MergeProducts, OtherLayersStayApart) {
  Rng rng(6);
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {5, 8});
  const auto dense = [&] {
    return b.add("matmul", MatMul{}, {x, b.constant(random_array(rng, ir::kF32, {8, 6}))});
  };
  g.add_output(b.elementwise("mul", {dense(), dense()}, [](Exprs e) { return e[0] * e[1]; }), "y");
  const std::string before = to_string(g);
  merge_products(g, {});
  EXPECT_EQ(to_string(g), before);
}

TEST(DelayScales, OneConstantFollowsTheProduct) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {3, 5, 4});
  const ValueId y = b.input("y", ir::kF32, {3, 4, 7});
  const ValueId s =
      b.elementwise("div", {x, b.scalar(ir::kF32, 8)}, [](Exprs e) { return e[0] / e[1]; });
  g.add_output(b.add("matmul", MatMul{}, {s, y}), "z");
  Rng rng(2);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  delay_scales(g, {});
  g.verify();
  ASSERT_EQ(g.nodes.size(), 2U) << to_string(g);
  EXPECT_TRUE(std::holds_alternative<MatMul>(g.nodes[0].op));
  EXPECT_EQ(g.nodes[1].label, "div");
  EXPECT_LT(compare(expected, evaluate(g, inputs)).error, 1e-6);
}

// Two factors of an operand, one of both operands, and a product that reads a product.
TEST(DelayScales, EveryConstantFollows) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {5, 4});
  const ValueId y = b.input("y", ir::kF32, {4, 5});
  const auto times = [&](ValueId v, double by) {
    return b.elementwise("mul", {b.scalar(ir::kF32, by), v}, [](Exprs e) { return e[0] * e[1]; });
  };
  const ValueId p = b.add("matmul", MatMul{}, {times(times(x, 3), 5), y});
  const ValueId both = times(p, 0.5);
  g.add_output(b.add("matmul", MatMul{}, {both, both}), "z");
  Rng rng(2);
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  delay_scales(g, {});
  g.verify();
  EXPECT_LT(compare(expected, evaluate(g, inputs)).error, 1e-5);
  for (const Node& n : g.nodes) {
    if (!std::holds_alternative<MatMul>(n.op)) continue;
    for (const ValueId v : n.inputs) EXPECT_NE(g.value(v).name.find("mul"), 0U) << to_string(g);
  }
}

// A factor per row, a sum, and a product with weights are left as they are.
TEST(DelayScales, OtherMapsStay) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {5, 4});
  const ValueId y = b.input("y", ir::kF32, {4, 7});
  Rng rng(4);
  const ValueId row = b.constant(random_array(rng, ir::kF32, {5, 1}));
  const ValueId one = b.scalar(ir::kF32, 2);
  const auto mul = [](Exprs e) { return e[0] * e[1]; };
  g.add_output(b.add("matmul", MatMul{}, {b.elementwise("mul", {x, row}, mul), y}), "a");
  g.add_output(b.add("matmul", MatMul{},
                     {b.elementwise("add", {x, one}, [](Exprs e) { return e[0] + e[1]; }), y}),
               "b");
  const ValueId w = b.constant(random_array(rng, ir::kF32, {4, 7}));
  g.add_output(b.add("matmul", MatMul{}, {b.elementwise("mul", {x, one}, mul), w}), "c");
  const std::string before = to_string(g);
  delay_scales(g, {});
  EXPECT_EQ(to_string(g), before);
}

}  // namespace
}  // namespace tenon::graph
