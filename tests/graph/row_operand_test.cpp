// SPDX-License-Identifier: Apache-2.0
// A layer norm is part of the product behind it where nothing else reads it.
#include "te/row_operand.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/partition.h"
#include "graph/passes.h"
#include "graph/random_graph.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

struct Layer {
  int64_t rows = 9, width = 24, columns = 40;
  bool read_twice = false;  // the residual reads the norm's result too
};

// norm, dense layer and bias, dense layer back and residual.
Graph layer(Rng& rng, const Layer& form) {
  Graph g;
  GraphBuilder b(g);
  const auto add = [](Exprs e) { return e[0] + e[1]; };
  const ValueId x = b.input("x", ir::kF32, {1, form.rows, form.width});
  const ValueId scale = b.constant(random_array(rng, ir::kF32, {form.width}));
  const ValueId shift = b.constant(random_array(rng, ir::kF32, {form.width}));
  const ValueId n =
      b.compute("norm", {x, scale, shift}, [](te::Builder& t, std::span<const te::Tensor> in) {
        return te::layer_norm(t, "norm", in[0], in[1], in[2], 1e-5);
      });
  const ValueId w = b.constant(random_array(rng, ir::kF32, {form.width, form.columns}));
  const ValueId bias = b.constant(random_array(rng, ir::kF32, {form.columns}));
  const ValueId y = b.elementwise("add", {b.add("matmul", MatMul{}, {n, w}), bias}, add);
  const ValueId back = b.constant(random_array(rng, ir::kF32, {form.columns, form.width}));
  const ValueId z = b.add("matmul", MatMul{}, {y, back});
  g.add_output(b.elementwise("add", {z, form.read_twice ? n : x}, add), "z");
  return g;
}

// How many tasks have work on rows in front of a product, of how many.
std::pair<int, int> joined(const Graph& g) {
  int found = 0;
  const Partition p = partition(g);
  for (const Computation& t : p.tasks) found += te::find_row_operand(*t.dag) ? 1 : 0;
  return {found, static_cast<int>(p.tasks.size())};
}

TEST(RowOperand, JoinsTheProductThatFollows) {
  Rng rng(1);
  Graph g = layer(rng, {});
  optimize(g);
  EXPECT_EQ(joined(g), std::make_pair(1, 2)) << to_string(g);
}

TEST(RowOperand, StaysApartWhenTheResidualReadsItToo) {
  Rng rng(2);
  Graph g = layer(rng, {.read_twice = true});
  optimize(g);
  EXPECT_EQ(joined(g), std::make_pair(0, 3)) << to_string(g);
}

// Weights that are read again for each block of rows would come from far away.
TEST(RowOperand, StaysApartFromLargeWeights) {
  Rng rng(3);
  Graph g = layer(rng, {.width = 640, .columns = 640});
  optimize(g);
  EXPECT_EQ(joined(g), std::make_pair(0, 3)) << to_string(g);
}

TEST(RowOperand, StaysApartWithFewRows) {
  Rng rng(5);
  Graph g = layer(rng, {.rows = 7});
  optimize(g);
  EXPECT_EQ(joined(g), std::make_pair(0, 3)) << to_string(g);
}

TEST(RowOperand, OtherWorkOnRowsJoinsToo) {
  Rng rng(4);
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {17, 20});
  const ValueId s = b.compute("softmax", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
    return te::softmax(t, "softmax", in[0]);
  });
  const ValueId w = b.constant(random_array(rng, ir::kF32, {20, 33}));
  g.add_output(b.add("matmul", MatMul{}, {s, w}), "y");
  const auto inputs = random_inputs(rng, g);
  const auto expected = evaluate(g, inputs);
  optimize(g);
  EXPECT_EQ(joined(g), std::make_pair(1, 1)) << to_string(g);
  const Partition p = partition(g);
  const auto data = [&](ValueId v) { return g.value(v).constant() ? *g.value(v).data : inputs[0]; };
  std::vector<ir::Array> in;
  for (const ValueId v : p.calls[0].inputs) in.push_back(data(v));
  EXPECT_LT(compare(expected, te::evaluate(*p.tasks[0].dag, in)).error, 1e-6);
}

}  // namespace
}  // namespace tenon::graph
