// SPDX-License-Identifier: Apache-2.0
// Depthwise, squeeze-and-excite, pointwise: what MobileNet and EfficientNet are made of.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_graph.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Exprs = std::span<const ir::Expr>;

struct Block {
  int64_t channels, height, width, out, stride;
  bool excite;
  int64_t images = 1;
};

// One factor for each channel, computed from all positions and channels.
ValueId excite(GraphBuilder& b, ValueId x, ValueId weights) {
  const ValueId sum = b.compute("sum", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
    return te::reduce_dims(t, "sum", in[0], ir::BinaryOp::kAdd, {2, 3}, true);
  });
  const ValueId mixed = b.add("conv", graph::Conv{}, {sum, weights});
  const ValueId f = b.elementwise(
      "sigmoid", {mixed}, [](Exprs e) { return ir::call(ir::Intrinsic::kSigmoid, {e[0]}); });
  return b.elementwise("mul", {x, f}, [](Exprs e) { return e[0] * e[1]; });
}

Graph block_graph(const Block& s) {
  Rng rng(static_cast<uint64_t>(s.height));
  Graph g;
  GraphBuilder b(g);
  const auto weight = [&](graph::Shape shape) {
    return b.constant(graph::random_array(rng, ir::kF32, shape));
  };
  te::ConvParams p;
  p.pad_before = p.pad_after = {1, 1};
  p.stride = {s.stride, s.stride};
  p.groups = s.channels;
  ValueId x = b.input("x", ir::kF32, {s.images, s.channels, s.height, s.width});
  x = b.add("conv", graph::Conv{p}, {x, weight({s.channels, 1, 3, 3})});
  x = b.elementwise("clip", {x}, [](Exprs e) {
    return ir::min(ir::max(e[0], ir::make_float(ir::kF32, 0)), ir::make_float(ir::kF32, 6));
  });
  if (s.excite) x = excite(b, x, weight({s.channels, s.channels, 1, 1}));
  x = b.add("conv", graph::Conv{}, {x, weight({s.out, s.channels, 1, 1})});
  const ValueId bias = weight({s.out, 1, 1});
  g.add_output(b.elementwise("add", {x, bias}, [](Exprs e) { return e[0] + e[1]; }), "y");
  return g;
}

artifact::Program compiled(const Graph& g, Options options = {}) {
  options.target = target::host_target();
  return compile(g, "block", options);
}

void expect_right(const Graph& g, const artifact::Program& program) {
  Rng rng(5);
  const auto inputs = graph::random_inputs(rng, g);
  for (const int threads : {1, 2}) {
    const auto d = graph::compare(graph::evaluate(g, inputs), run(program, inputs, threads));
    EXPECT_LT(d.error, 1e-5) << d.where;
  }
}

// Where the op `name` is computed: the origin of its kernel; empty if there is none.
std::string computed_by(const artifact::Program& p, const std::string& name) {
  for (const plan::TaskPlan& k : p.plan.tasks) {
    if (k.te.find("\n" + name + "[") != std::string::npos) return k.origin;
  }
  return "";
}

// The factors go over the weights, which are computed in the convolution's own kernel.
TEST(DepthwiseBlocks, SqueezeAndExciteHasNoStepThatScales) {
  for (const Block& s : {Block{24, 19, 13, 40, 1, true}, Block{40, 17, 29, 16, 2, true},
                         Block{13, 11, 23, 7, 1, true}, Block{32, 14, 14, 48, 1, true}}) {
    SCOPED_TRACE(s.channels);
    const Graph g = block_graph(s);
    const artifact::Program p = compiled(g);
    EXPECT_EQ(computed_by(p, "mul"), "");
    EXPECT_EQ(computed_by(p, "scale"), "template conv");
    expect_right(g, p);
  }
}

// With fewer positions than weights of a channel, or a factor for each image, it is the activations that are scaled.
TEST(DepthwiseBlocks, FewPositionsAreScaledThemselves) {
  for (const Block& s : {Block{24, 5, 7, 40, 1, true}, Block{16, 13, 17, 24, 1, true, 3}}) {
    SCOPED_TRACE(s.channels);
    const Graph g = block_graph(s);
    const artifact::Program p = compiled(g);
    EXPECT_EQ(computed_by(p, "mul"), "template elementwise");
    EXPECT_EQ(computed_by(p, "scale"), "");
    expect_right(g, p);
  }
}

}  // namespace
}  // namespace tenon::compile
