// SPDX-License-Identifier: Apache-2.0
// Programs whose weights stay as small as the parameters.
#include <gtest/gtest.h>

#include <memory>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "support/private_folder.h"

namespace tenon::compile {
namespace {

struct Net {
  graph::Graph graph;
  int64_t parameter_bytes = 0;
  std::vector<ir::Array> inputs;
};

// A convolution of three taps, large enough for Winograd's algorithm.
Net make_net() {
  Net net;
  Rng rng(3);
  graph::GraphBuilder b(net.graph);
  te::ConvParams same;
  same.pad_before = same.pad_after = {1, 1};
  graph::ValueId x = b.input("x", ir::kF32, {1, 64, 14, 14});
  const ir::Array w = graph::random_array(rng, ir::kF32, {64, 64, 3, 3});
  net.parameter_bytes = w.bytes();
  x = b.add("conv", graph::Conv{same}, {x, b.constant(w)});
  net.graph.add_output(x, "y");
  net.inputs = graph::random_inputs(rng, net.graph);
  return net;
}

Options for_v3() {
  Options o;
  o.target = target::parse_target("x86-64-v3");
  return o;
}

bool uses_winograd(const artifact::Program& p) {
  return std::any_of(p.plan.tasks.begin(), p.plan.tasks.end(),
                     [](const plan::TaskPlan& t) { return t.algorithm.starts_with("winograd"); });
}

TEST(Lean, WeightsAreNoMoreThanTheParameters) {
  const Net net = make_net();
  const artifact::Program fast = compile(net.graph, "net", for_v3());
  ASSERT_TRUE(uses_winograd(fast)) << "or there is nothing to avoid";
  EXPECT_GT(fast.weights_bytes, net.parameter_bytes * 17 / 10);
  Options o = for_v3();
  o.lean = true;
  const artifact::Program lean = compile(net.graph, "net", o);
  EXPECT_FALSE(uses_winograd(lean));
  EXPECT_LE(lean.weights_bytes, net.parameter_bytes * 105 / 100);
  if (!target::runs_here(lean.target)) GTEST_SKIP() << "this CPU is less than x86-64-v3";
  const auto folder = PrivateFolder::temporary("lean");
  artifact::write(lean, {.directory = folder.path() / "net"});
  const artifact::Model model = artifact::Model::load(folder.path() / "net");
  const graph::Difference d = graph::compare(graph::evaluate(net.graph, net.inputs),
                                             artifact::Session(model, 2).run(net.inputs));
  EXPECT_LT(d.error, 1e-5) << d.where;
}

TEST(Lean, AScheduleThatInflatesWeightsIsRefused) {
  const Net net = make_net();
  Options o = for_v3();
  const plan::Network fast = compile::decide(net.graph, "net", o);
  o.plan = fast.plan;
  // With the same layouts the tasks are the same.
  for (size_t step = 0; step < fast.task_of.size(); ++step) {
    const std::string call = fast.call_of(step);
    if (call.empty()) continue;
    o.plan.layouts.calls[call] = task::edges_text(fast.layouts.calls[step].edges);
    o.plan.layouts.from = plan::From::kGiven;
  }
  o.lean = true;
  std::vector<std::string> warnings;
  o.warn = [&](const std::string& text) { warnings.push_back(text); };
  const plan::Network lean = compile::decide(net.graph, "net", o);
  for (const plan::TaskPlan& t : lean.plan.tasks) {
    EXPECT_FALSE(t.algorithm.starts_with("winograd")) << t.algorithm;
  }
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("needs more memory for weights"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace tenon::compile
