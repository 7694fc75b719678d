// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <gtest/gtest.h>

#include "compile/names.h"
#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_attention.h"
#include "graph/random_graph.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Exprs = std::span<const ir::Expr>;

Options host() {
  Options o;
  o.target = target::host_target();
  return o;
}

TEST(Compile, RandomGraphsGiveTheAnswerOfTheInterpreter) {
  const uint64_t seed = 100;
  SCOPED_TRACE(seed);
  for (uint64_t i = 0; i < 120; ++i) {
    SCOPED_TRACE(i);
    Rng rng(seed + i);
    const Graph g = graph::random_graph(rng, 12);
    const auto inputs = graph::random_inputs(rng, g);
    const auto expected = graph::evaluate(g, inputs);
    const artifact::Program p = compile(g, "random", host());
    const graph::Difference d =
        graph::compare(expected, run(p, inputs, 1 + static_cast<int>(i % 2)));
    ASSERT_LT(d.error, 1e-5) << d.where << "\n" << graph::to_string(g);
  }
}

// Convolutions with work on channels last between them, as in ConvNeXt.
TEST(Compile, ChannelsGoToTheEndAndBack) {
  for (const int64_t channels : {1, 7, 16, 20, 48}) {
    SCOPED_TRACE(channels);
    Rng rng(static_cast<uint64_t>(channels));
    Graph g;
    GraphBuilder b(g);
    const auto conv = [&](ValueId x, int64_t from, int64_t to) {
      const graph::Shape shape{to, from, 1, 1};
      return b.add("conv", graph::Conv{},
                   {x, b.constant(graph::random_array(rng, ir::kF32, shape))});
    };
    ValueId x = conv(b.input("x", ir::kF32, {2, 5, 7, 3}), 5, channels);
    x = b.transpose(x, {0, 2, 3, 1});
    x = b.compute("softmax", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
      return te::softmax(t, "softmax", in[0]);
    });
    g.add_output(conv(b.transpose(x, {0, 3, 1, 2}), channels, 6), "y");
    const auto inputs = graph::random_inputs(rng, g);
    const artifact::Program p = compile(g, "turned", host());
    for (const int threads : {1, 2}) {
      const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs, threads));
      EXPECT_LT(d.error, 1e-5) << d.where;
    }
  }
}

TEST(Compile, AttentionGivesTheAnswerOfTheInterpreter) {
  const uint64_t seed = 700;
  SCOPED_TRACE(seed);
  for (uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    Rng rng(seed + i);
    const Graph g = graph::attention_graph(rng, graph::random_form(rng));
    const auto inputs = graph::random_inputs(rng, g);
    const artifact::Program p = compile(g, "attention", host());
    const bool fused = std::any_of(p.plan.tasks.begin(), p.plan.tasks.end(),
                                   [](const auto& t) { return t.origin == "template attention"; });
    EXPECT_TRUE(fused) << graph::to_string(g);
    const graph::Difference d =
        graph::compare(graph::evaluate(g, inputs), run(p, inputs, 1 + static_cast<int>(i % 2)));
    ASSERT_LT(d.error, 1e-5) << d.where << "\n" << graph::to_string(g);
  }
}

TEST(Compile, TheUnfusedDefinitionAgrees) {
  for (uint64_t i = 0; i < 30; ++i) {
    SCOPED_TRACE(i);
    Rng rng(500 + i);
    const Graph g = graph::random_graph(rng, 10);
    const auto inputs = graph::random_inputs(rng, g);
    Options o = host();
    o.optimize = o.fuse = o.schedule = false;
    const graph::Difference d =
        graph::compare(graph::evaluate(g, inputs), run(compile(g, "plain", o), inputs));
    ASSERT_LT(d.error, 1e-5) << d.where;
  }
}

// conv -> relu -> conv -> pool -> flatten -> dense: blocked between the convolutions, no conversions.
Graph small_network() {
  Rng rng(4);
  Graph g;
  GraphBuilder b(g);
  const auto weight = [&](graph::Shape s) {
    return b.constant(graph::random_array(rng, ir::kF32, s));
  };
  ValueId x = b.input("x", ir::kF32, {1, 3, 12, 12});
  const auto relu = [&](ValueId v) {
    return b.elementwise("relu", {v},
                         [](Exprs e) { return ir::max(e[0], ir::make_float(ir::kF32, 0)); });
  };
  te::ConvParams same;
  same.pad_before = same.pad_after = {1, 1};
  x = relu(b.add("conv", graph::Conv{same}, {x, weight({32, 3, 3, 3})}));
  const ValueId a = x;
  x = relu(b.add("conv", graph::Conv{same}, {x, weight({32, 32, 3, 3})}));
  x = b.add("conv", graph::Conv{same}, {x, weight({32, 32, 3, 3})});
  x = relu(b.elementwise("add", {x, a}, [](Exprs e) { return e[0] + e[1]; }));
  x = b.compute("pool", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
    return te::pool(t, "pool", in[0], te::Pool::kAverage, {12, 12}, {});
  });
  x = b.reshape(x, {1, 32});
  x = b.add("matmul", graph::MatMul{}, {x, weight({32, 10})});
  g.add_output(x, "y");
  return g;
}

TEST(Compile, ConvolutionsShareABlockedLayoutWithoutConversions) {
  const Graph g = small_network();
  const artifact::Program p = compile(g, "net", host());
  ASSERT_GE(p.steps.size(), 5u);
  for (size_t i = 0; i < 3; ++i) {
    const artifact::Kernel& k = p.kernels[static_cast<size_t>(p.steps[i].kernel)];
    EXPECT_NE(k.name.find("relu"), std::string::npos) << k.name;
  }
  Rng rng(1);
  const auto inputs = graph::random_inputs(rng, g);
  const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs));
  EXPECT_LT(d.error, 1e-5) << d.where;
}

// x -> conv -> y, both row-major for the caller: one kernel. Read twice, x is converted once for both.
TEST(Compile, AConvolutionTakesRowMajorTensorsAsTheyAre) {
  Rng rng(5);
  for (const int readers : {1, 2}) {
    Graph g;
    GraphBuilder b(g);
    te::ConvParams same;
    same.pad_before = same.pad_after = {1, 1};
    same.stride = {3, 3};  // no other algorithm than the direct one
    const ValueId x = b.input("x", ir::kF32, {1, 32, 20, 13});
    for (int i = 0; i < readers; ++i) {
      const ValueId w = b.constant(graph::random_array(rng, ir::kF32, {48, 32, 3, 3}));
      g.add_output(b.add("conv", graph::Conv{same}, {x, w}), "y" + std::to_string(i));
    }
    const artifact::Program p = compile(g, "net", host());
    EXPECT_EQ(p.steps.size(), readers == 1 ? 1u : 3u);
    const auto inputs = graph::random_inputs(rng, g);
    const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs));
    EXPECT_LT(d.error, 1e-5) << d.where;
  }
}

// Weights are turned when the program is made; --accuracy strict leaves large tiles out.
TEST(Compile, ConvolutionsByFewerMultiplications) {
  Rng rng(6);
  Graph g;
  GraphBuilder b(g);
  te::ConvParams same;
  same.pad_before = same.pad_after = {1, 1};
  ValueId x = b.input("x", ir::kF32, {1, 32, 17, 19});
  for (int i = 0; i < 2; ++i) {
    const ValueId w = b.constant(graph::random_array(rng, ir::kF32, {32, 32, 3, 3}));
    x = b.add("conv", graph::Conv{same}, {x, w});
  }
  g.add_output(x, "y");
  const auto inputs = graph::random_inputs(rng, g);
  const auto expected = graph::evaluate(g, inputs);
  for (const auto accuracy : {templates::Accuracy::kDefault, templates::Accuracy::kStrict}) {
    Options o = host();
    o.accuracy = accuracy;
    o.target.cpu().rates = {};  // fewer multiplications pay where data moves fast beside them
    const artifact::Program p = compile(g, "net", o);
    int large = 0, turned = 0;
    for (const plan::TaskPlan& k : p.plan.tasks) {
      turned += k.trace.find("variant") != std::string::npos ? 1 : 0;
      large += k.trace.find("winograd4") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(turned, 0);
    if (accuracy == templates::Accuracy::kStrict) EXPECT_EQ(large, 0);
    const auto d = graph::compare(expected, run(p, inputs, 2));
    EXPECT_LT(d.error, 1e-5) << d.where;
  }
}

TEST(Compile, ProductsByFewerMultiplications) {
  Rng rng(9);
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {192, 256});
  const ValueId w = b.constant(graph::random_array(rng, ir::kF32, {256, 384}));
  g.add_output(b.add("dense", graph::MatMul{}, {x, w}), "y");
  Options o = host();
  o.target.cpu().cores = 2;  // with more, weights would take longer to come than to be multiplied
  o.target.cpu().rates = {};
  const artifact::Program p = compile(g, "net", o);
  ASSERT_EQ(p.kernels.size(), 1u);
  const std::string& trace = p.plan.tasks[0].trace;
  EXPECT_NE(trace.find("strassen"), std::string::npos) << trace;
  const auto inputs = graph::random_inputs(rng, g);
  const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs, 2));
  EXPECT_LT(d.error, 1e-5) << d.where;
}

TEST(Compile, SchedulesFromALockGiveTheSameProgram) {
  const artifact::Program first = compile(small_network(), "net", host());
  Options o = host();
  o.frozen = true;
  EXPECT_THROW(compile(small_network(), "net", o), MissingSchedule);
  o.plan.tasks = first.plan.tasks;
  const artifact::Program second = compile(small_network(), "net", o);
  ASSERT_EQ(first.kernels.size(), second.kernels.size());
  for (size_t i = 0; i < first.kernels.size(); ++i) {
    EXPECT_EQ(first.plan.tasks[i].trace, second.plan.tasks[i].trace);
    EXPECT_EQ(second.plan.tasks[i].origin, first.plan.tasks[i].origin);
  }
}

// An input without elements is read by nothing, an output without elements is a constant.
TEST(Compile, TensorsWithoutElementsPassThrough) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {3, 0});
  const ValueId y = b.input("y", ir::kF32, {5});
  g.outputs = {b.reshape(x, {0, 7}),
               b.elementwise("double", {y}, [](Exprs e) { return e[0] + e[0]; })};
  g.output_names = {"empty", "doubled"};
  ir::Array five(ir::kF32, {5});
  for (int64_t i = 0; i < 5; ++i) five.set_double(i, static_cast<double>(i));
  const auto out = run(compile(g, "empty", host()), {ir::Array(ir::kF32, {3, 0}), five});
  EXPECT_EQ(out[0].shape(), (graph::Shape{0, 7}));
  EXPECT_EQ(out[1].get_double(4), 8);
}

TEST(Compile, IdentifiersAreMadeOfAnyName) {
  EXPECT_EQ(identifier("model-7.onnx"), "model_7_onnx");
  EXPECT_EQ(identifier("3d"), "m_3d");
  EXPECT_EQ(identifier(""), "m_");
  EXPECT_EQ(library_name("net"), "net");
  EXPECT_EQ(library_name("m"), "m_model") << "libm.so";
  EXPECT_EQ(library_name("stdint"), "stdint_model") << "stdint.h";
  EXPECT_EQ(library_name(std::string(300, 'x')), std::string(kLongestName, 'x'));
  EXPECT_EQ(why_no_name("net"), "");
}

}  // namespace
}  // namespace tenon::compile
