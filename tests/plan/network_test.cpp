// SPDX-License-Identifier: Apache-2.0
// What is decided is what is built.
#include "plan/network.h"

#include <gtest/gtest.h>

#include "compile/compile.h"
#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "plan/text.h"

namespace tenon::plan {
namespace {

Options host() {
  Options o;
  o.target = target::host_target();
  return o;
}

graph::Graph random_network(uint64_t seed) {
  Rng rng(seed);
  return graph::random_graph(rng, 12);
}

TEST(Network, ListsTheTasksOfTheProgram) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph g = random_network(seed);
    const Network n = decide(g, "net", host());
    const artifact::Program p = compile::compile(g, "net", host());
    ASSERT_EQ(n.tasks.size(), p.kernels.size());
    ASSERT_EQ(n.plan.tasks.size(), p.kernels.size());
    for (size_t i = 0; i < n.tasks.size(); ++i) {
      EXPECT_EQ(n.tasks[i].task.key, p.kernels[i].task);
      EXPECT_EQ(n.plan.tasks[i].task, p.kernels[i].task);
      EXPECT_EQ(compile::kernel_name(n, i), p.kernels[i].name);
    }
    ASSERT_EQ(n.task_of.size(), p.steps.size());
    for (size_t s = 0; s < n.task_of.size(); ++s) {
      EXPECT_EQ(n.task_of[s], p.steps[s].kernel);
      EXPECT_EQ(n.call_of(s), p.steps[s].call);
    }
    EXPECT_EQ(to_text(n.plan), to_text(p.plan));
  }
}

TEST(Network, IsTheSameFromItsOwnText) {
  for (uint64_t seed = 20; seed <= 32; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph g = random_network(seed);
    const std::string text = to_text(decide(g, "net", host()).plan);
    Options again = host();
    again.plan = parse(text, "net.lock");
    again.frozen = true;
    const Network n = decide(g, "net", again);
    EXPECT_EQ(to_text(n.plan), text);
    Rng rng(seed);
    const auto inputs = graph::random_inputs(rng, g);
    const auto got = compile::run(compile::build(n, again), inputs);
    const auto d = graph::compare(graph::evaluate(g, inputs), got);
    EXPECT_LT(d.error, 1e-5) << d.where;
  }
}

// Each decision says where it came from.
TEST(Network, OriginsOfDecisions) {
  const graph::Graph g = random_network(40);
  const Network rules = decide(g, "net", host());
  for (const TaskPlan& t : rules.plan.tasks) EXPECT_EQ(t.from, From::kRule);
  EXPECT_FALSE(rules.plan.pairs.decided());
  EXPECT_FALSE(rules.plan.layouts.decided());
  Options o = host();
  o.plan = rules.plan;
  for (TaskPlan& t : o.plan.tasks) t.from = From::kMeasured;
  o.plan.tasks[0].trace = "split nobody i [4]\n";
  std::vector<std::string> warnings;
  o.warn = [&](const std::string& text) { warnings.push_back(text); };
  const Network n = decide(g, "net", o);
  EXPECT_EQ(n.plan.tasks[0].from, From::kRule);
  EXPECT_NE(n.plan.tasks[0].refused, "");
  for (size_t i = 1; i < n.plan.tasks.size(); ++i) EXPECT_EQ(n.plan.tasks[i].from, From::kMeasured);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(n.plan.tasks[0].task), std::string::npos) << warnings[0];
  o.row_major = true;
  EXPECT_EQ(decide(g, "net", o).plan.layouts.from, From::kGiven);
}

// What is known from elsewhere is used where nothing was given and where it may serve.
TEST(Network, TakesProgramsThatAreKnown) {
  const graph::Graph g = random_network(40);
  const Network rules = decide(g, "net", host());
  ASSERT_GE(rules.tasks.size(), 3U);
  const std::string known = rules.tasks[0].task.key, unfit = rules.tasks[1].task.key;
  Options o = host();
  const KnownProgram no_fit{{schedule::Parallel{{1000}, {0}}}, From::kTable};
  o.known = [&](const task::Task& t) -> std::vector<KnownProgram> {
    if (t.key == known) return {no_fit, {rules.tasks[0].trace, From::kTable}};
    if (t.key == unfit) return {no_fit};
    return {};
  };
  std::vector<std::string> warnings;
  o.warn = [&](const std::string& text) { warnings.push_back(text); };
  const Network n = decide(g, "net", o);
  EXPECT_EQ(n.plan.tasks[0].from, From::kTable);
  EXPECT_EQ(n.plan.tasks[0].origin, "table");
  EXPECT_EQ(n.tasks[0].trace, rules.tasks[0].trace);
  for (size_t i = 1; i < n.plan.tasks.size(); ++i) EXPECT_EQ(n.plan.tasks[i].from, From::kRule);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  o.plan = rules.plan;
  EXPECT_EQ(decide(g, "net", o).plan.tasks[0].from, From::kRule) << "what was given comes first";
}

}  // namespace
}  // namespace tenon::plan
