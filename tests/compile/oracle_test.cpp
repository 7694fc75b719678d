// SPDX-License-Identifier: Apache-2.0
// Right answers for graphs and kernels, and the tasks of a network as text.
#include "compile/oracle.h"

#include <gtest/gtest.h>

#include "artifact/model.h"
#include "artifact/write.h"
#include "compile/compile.h"
#include "compile/loaded_kernel.h"
#include "compile/task_list.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "ir/arrays.h"
#include "lower/lower.h"
#include "support/check.h"
#include "support/private_folder.h"
#include "te/dag.h"
#include "te/ops.h"

namespace tenon::compile {
namespace {

graph::Graph two_equal_convolutions(Rng& rng) {
  graph::Graph g;
  graph::GraphBuilder b(g);
  graph::ValueId x = b.input("x", ir::kF32, {1, 8, 6, 5});
  for (const char* name : {"first", "second"}) {
    b.begin(name);
    const auto w = b.constant(graph::random_array(rng, ir::kF32, {8, 8, 1, 1}));
    x = b.add("conv", graph::Conv{}, {x, w});
  }
  g.add_output(x, "y");
  return g;
}

class OracleTest : public testing::Test {
 protected:
  void SetUp() override {
    Rng rng(3);
    graph_ = two_equal_convolutions(rng);
    inputs_ = graph::random_inputs(rng, graph_);
    expected_ = graph::evaluate(graph_, inputs_);
    options_.target = target::host_target();
  }

  graph::Graph graph_;
  std::vector<ir::Array> inputs_, expected_;
  Options options_;
};

TEST_F(OracleTest, OraclesAndCompilationsAgree) {
  EXPECT_EQ(choose_oracle(graph_), Oracle::kInterpreter) << "it is small";
  for (const Oracle o : {Oracle::kInterpreter, Oracle::kPlain}) {
    EXPECT_LT(ir::relative_error(run_oracle(o, graph_, inputs_), expected_), 1e-5) << to_string(o);
  }
  EXPECT_LT(ir::relative_error(run_graph(graph_, inputs_, {}), expected_), 1e-5);
}

TEST_F(OracleTest, APrefixEndsWithItsNode) {
  const graph::Graph part = prefix(graph_, 0);
  ASSERT_EQ(part.nodes.size(), 1U);
  EXPECT_LT(ir::relative_error(run_graph(part, inputs_, {}), graph::evaluate(part, inputs_)), 1e-5);
}

TEST_F(OracleTest, TheTasksOfANetworkAreThoseOfItsArtifact) {
  const plan::Network network = compile::decide(graph_, "net", options_);
  const TaskList planned = list_tasks(network, options_.target);
  const auto folder = PrivateFolder::temporary("tasks");
  artifact::write(compile::build(network, options_), {folder.path() / "net", {}, 0});
  const TaskList written = list_tasks(artifact::Model::load(folder.path() / "net"));
  EXPECT_EQ(planned.model, "net");
  ASSERT_EQ(planned.tasks.size(), written.tasks.size());
  int calls = 0;
  for (const TaskText& t : planned.tasks) {
    const TaskText& w = find_task(written, t.kernel);
    EXPECT_EQ(w.task, t.task);
    EXPECT_EQ(w.te, t.te);
    EXPECT_EQ(w.trace, t.trace);
    EXPECT_EQ(w.nodes, t.nodes);
    EXPECT_EQ(w.calls, t.calls);
    calls += t.calls;
  }
  EXPECT_GE(calls, 2);
  EXPECT_EQ(&find_task(planned, "first"), &find_task(planned, find_task(planned, "first").task));
  EXPECT_THROW(find_task(planned, "third"), UserError);
}

TEST(LoadedKernel, RunsAsOftenAsWanted) {
  te::Builder b;
  const auto x = b.input("A", ir::kF32, {5, 7});
  b.output(te::matmul(b, "C", x, b.input("B", ir::kF32, {7, 3})));
  const auto dag = std::make_shared<const te::ComputeDag>(b.finish());
  const schedule::State state(dag, std::make_shared<const target::Target>(target::host_target()));
  const std::vector<ir::Array> inputs = random_inputs(*dag, 1);
  check_fits_memory(*dag);
  const LoadedKernel kernel(state, *lower::lower(state), inputs);
  const tenon_runtime* rt = tenon_runtime_create(1);
  for (int i = 0; i < 2; ++i) {
    kernel.run(rt);
    EXPECT_LT(ir::relative_error(kernel.outputs(), te::evaluate(*dag, inputs)), 1e-6);
  }
  tenon_runtime_destroy(rt);
}

}  // namespace
}  // namespace tenon::compile
