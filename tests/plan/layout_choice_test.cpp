// SPDX-License-Identifier: Apache-2.0
#include "plan/layout_choice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "compile/compile.h"
#include "compile/run.h"
#include "files/file.h"
#include "graph/builder.h"
#include "graph/passes.h"
#include "graph/random_graph.h"
#include "plan/text.h"
#include "task/task.h"

namespace tenon::plan {
namespace {

using compile::compile;
using compile::run;

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using layout::Layout;
using Edges = std::map<std::string, Layout>;

std::shared_ptr<const target::Target> host() {
  return std::make_shared<const target::Target>(target::host_target());
}

enum class Kind { kPlain, kLast, kBlocked };

Layout stored(const std::vector<int64_t>& shape, Kind k) {
  if (k == Kind::kPlain || shape.size() != 4) return Layout(shape);
  if (k == Kind::kLast) return Layout(shape).reorder({0, 2, 3, 1});
  return Layout(shape).split(1, {(shape[1] + 3) / 4, 4}).reorder({0, 1, 3, 4, 2});
}

Edges edges_of(const te::ComputeDag& dag, Kind in, Kind out) {
  Edges e;
  for (const te::Input& i : dag.inputs) {
    if (i.constant) continue;
    const bool alike = i.tensor.shape() == dag.outputs[0].shape() && i.tensor.name() != "x0";
    e.emplace(i.tensor.name(), stored(i.tensor.shape(), alike ? out : in));
  }
  for (const te::Tensor& t : dag.outputs) e.emplace(t.name(), stored(t.shape(), out));
  return e;
}

// A graph ready to be planned.
struct Cut {
  explicit Cut(Graph graph) : g(std::move(graph)) {
    graph::own_outputs(g);
    g.compact();
    p = graph::partition(g);
  }
  Graph g;
  graph::Partition p;
};

// Convolutions of different widths, so that no two are one task; from the second on with a residual now and then.
Graph chain(Rng& rng, int length, double residuals) {
  Graph g;
  GraphBuilder b(g);
  te::ConvParams same;
  same.pad_before = same.pad_after = {1, 1};
  ValueId x = b.input("x", ir::kF32, {1, 6, 5, 7});
  std::vector<ValueId> made;
  for (int i = 0; i < length; ++i) {
    const int64_t in = b.shape(x)[1], out = rng.chance(residuals) ? 8 : 5 + i;
    const ValueId w = b.constant(graph::random_array(rng, ir::kF32, {out, in, 3, 3}));
    x = b.add("conv", graph::Conv{same}, {x, w});
    for (const ValueId r : made) {
      if (b.shape(r) != b.shape(x) || !rng.chance(residuals)) continue;
      x = b.elementwise("add", {x, r}, [](std::span<const ir::Expr> e) { return e[0] + e[1]; });
      break;
    }
    made.push_back(x);
  }
  g.add_output(x, "y");
  return g;
}

LayoutTimes random_layout_times(Rng& rng, const graph::Partition& p) {
  LayoutTimes o;
  o.bytes_per_second = 1e9;
  for (const graph::Computation& t : p.tasks) {
    if (t.kind == graph::Kind::kMap) continue;
    for (const Kind in : {Kind::kPlain, Kind::kLast, Kind::kBlocked}) {
      for (const Kind out : {Kind::kPlain, Kind::kLast, Kind::kBlocked}) {
        if (rng.chance(0.4)) continue;
        o.tasks[t.key].push_back(
            {edges_of(*t.dag, in, out), 1e-6 * static_cast<double>(rng.between(1, 9))});
      }
    }
  }
  return o;
}

// What the rules give counts as measured, too.
void add_default(const LayoutRules& rules, LayoutTimes& o, double seconds) {
  for (const PlannedCall& c : plan_layouts(rules, {}).calls) {
    if (c.call < 0) continue;
    const auto& call = rules.p().calls[static_cast<size_t>(c.call)];
    const std::string& key = rules.p().tasks[static_cast<size_t>(call.task)].key;
    if (o.tasks.contains(key) && o.find(key, c.edges) == nullptr) {
      o.tasks[key].push_back({c.edges, seconds});
    }
  }
}

TEST(LayoutChoice, ConversionsCountWithTheTasks) {
  Rng rng(1);
  const Cut cut(chain(rng, 2, 0));
  const LayoutRules rules(cut.g, cut.p, host());
  ASSERT_EQ(cut.p.calls.size(), 2u);
  const auto layout_times = [&](double conversion) {
    LayoutTimes o;
    const auto& a = cut.p.tasks[0];
    const auto& b = cut.p.tasks[1];
    o.tasks[a.key] = {{edges_of(*a.dag, Kind::kPlain, Kind::kBlocked), 10e-6},
                      {edges_of(*a.dag, Kind::kPlain, Kind::kLast), 14e-6}};
    o.tasks[b.key] = {{edges_of(*b.dag, Kind::kBlocked, Kind::kPlain), 20e-6},
                      {edges_of(*b.dag, Kind::kLast, Kind::kPlain), 15e-6}};
    const auto& between = a.dag->outputs[0];
    const te::ComputeDag copy = conversion_dag(between.dtype(), between.shape());
    o.tasks[graph::key_of(copy)] = {{{{"x0", stored(between.shape(), Kind::kBlocked)},
                                      {"relay", stored(between.shape(), Kind::kLast)}},
                                     conversion}};
    add_default(rules, o, 1);
    return o;
  };
  const LayoutTimes cheap = layout_times(3e-6);
  const LayoutPlan two = plan_layouts(rules, choose_layouts(rules, cheap));
  EXPECT_EQ(two.calls.size(), 3u);  // with one conversion
  EXPECT_NEAR(cost_of(rules, two, cheap), 28e-6, 1e-12);
  const LayoutTimes dear = layout_times(6e-6);
  const LayoutPlan one = plan_layouts(rules, choose_layouts(rules, dear));
  EXPECT_EQ(one.calls.size(), 2u);
  EXPECT_NEAR(cost_of(rules, one, dear), 29e-6, 1e-12);
}

double cheapest(const LayoutRules& rules, const LayoutTimes& layout_times, Layouts& chosen,
                size_t call = 0) {
  if (call == rules.p().calls.size()) {
    return cost_of(rules, plan_layouts(rules, chosen), layout_times);
  }
  const auto& c = rules.p().calls[call];
  const auto it = layout_times.tasks.find(rules.p().tasks[static_cast<size_t>(c.task)].key);
  if (it == layout_times.tasks.end()) return cheapest(rules, layout_times, chosen, call + 1);
  double best = std::numeric_limits<double>::infinity();
  for (const LayoutTime& o : it->second) {
    chosen[c.name] = task::edges_text(o.edges);
    best = std::min(best, cheapest(rules, layout_times, chosen, call + 1));
  }
  return best;
}

TEST(LayoutChoice, IsTheCheapestOfAllOnChains) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Cut cut(chain(rng, 3, 0));
    const LayoutRules rules(cut.g, cut.p, host());
    LayoutTimes layout_times = random_layout_times(rng, cut.p);
    add_default(rules, layout_times, 20e-6);
    Layouts all;
    const double best = cheapest(rules, layout_times, all);
    const double ours =
        cost_of(rules, plan_layouts(rules, choose_layouts(rules, layout_times)), layout_times);
    EXPECT_LE(ours, best * 1.003);  // what is not worth it stays as it was
  }
}

TEST(LayoutChoice, IsNeverDearerThanTheRules) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Cut cut(chain(rng, 6, 0.6));
    const LayoutRules rules(cut.g, cut.p, host());
    LayoutTimes layout_times = random_layout_times(rng, cut.p);
    add_default(rules, layout_times, 6e-6);
    const double without = cost_of(rules, plan_layouts(rules, {}), layout_times);
    EXPECT_LE(
        cost_of(rules, plan_layouts(rules, choose_layouts(rules, layout_times)), layout_times),
        without);
  }
}

TEST(LayoutChoice, NothingMeasuredNothingChosen) {
  Rng rng(3);
  const Cut cut(chain(rng, 3, 0.5));
  const LayoutRules rules(cut.g, cut.p, host());
  EXPECT_TRUE(choose_layouts(rules, {}).empty());
  // Without a time of what the rules give there is nothing to compare with.
  LayoutTimes layout_times;
  const auto& t = cut.p.tasks[0];
  layout_times.tasks[t.key] = {{edges_of(*t.dag, Kind::kLast, Kind::kLast), 1e-9}};
  EXPECT_TRUE(choose_layouts(rules, layout_times).empty());
}

Options with_offers(const Graph& g, uint64_t seed) {
  Options o;
  o.target = target::host_target();
  o.optimize = false;
  Rng rng(seed);
  const Cut cut(g);
  const LayoutRules rules(cut.g, cut.p, host());
  o.layout_times = random_layout_times(rng, cut.p);
  add_default(rules, o.layout_times, 1);  // dear
  return o;
}

TEST(LayoutChoice, ChosenLayoutsGiveTheAnswerOfTheInterpreter) {
  int relaid = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Graph g = chain(rng, 4, 0.6);
    const auto inputs = graph::random_inputs(rng, g);
    const artifact::Program p = compile(g, "net", with_offers(g, seed));
    relaid += p.plan.layouts.calls.empty() ? 0 : 1;
    const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs, 1 + seed % 2));
    ASSERT_LT(d.error, 1e-5) << d.where;
  }
  EXPECT_GT(relaid, 15);
}

// A conversion writes each tile with all that its output tile reads; the image's other readers see nothing of it.
TEST(LayoutChoice, AnImageMayBeUnfoldedForOneReader) {
  Rng rng(4);
  Graph g;
  GraphBuilder b(g);
  const auto conv = [&](ValueId x, int64_t out) {
    const ValueId w = b.constant(graph::random_array(rng, ir::kF32, {out, b.shape(x)[1], 3, 3}));
    return b.add("conv", graph::Conv{}, {x, w});
  };
  const ValueId image = conv(b.input("x", ir::kF32, {1, 3, 10, 11}), 5);
  g.add_output(conv(image, 7), "y");
  g.add_output(conv(image, 9), "z");
  const Cut cut(g);
  ASSERT_EQ(cut.p.calls.size(), 3u);
  const te::ComputeDag& reader = *cut.p.tasks[1].dag;
  Edges edges = edges_of(reader, Kind::kPlain, Kind::kPlain);
  edges.at(reader.inputs[0].tensor.name()) = Layout({1, 5, 8, 9}).unfold(2, 4, 2);
  Options o;
  o.target = target::host_target();
  o.optimize = false;
  o.layout_times.tasks[cut.p.tasks[1].key] = {{edges, 1e-9}};
  add_default(LayoutRules(cut.g, cut.p, host()), o.layout_times, 1);
  const artifact::Program p = compile(g, "net", o);
  EXPECT_EQ(p.steps.size(), 4u);
  const auto unfolded = [](const TaskPlan& t) {
    return t.edges.find("unfold") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(p.plan.tasks.begin(), p.plan.tasks.end(), unfolded), 2);
  const auto inputs = graph::random_inputs(rng, g);
  const auto d = graph::compare(graph::evaluate(g, inputs), run(p, inputs, 2));
  EXPECT_LT(d.error, 1e-5) << d.where;
}

TEST(LayoutChoice, RowMajorMeansEveryTensor) {
  Rng rng(2);
  const Graph g = chain(rng, 4, 0.6);
  Options o;
  o.target = target::host_target();
  o.row_major = true;
  const artifact::Program p = compile(g, "net", o);
  for (const TaskPlan& t : p.plan.tasks) EXPECT_EQ(t.edges, "") << t.task;
  const auto inputs = graph::random_inputs(rng, g);
  EXPECT_LT(graph::compare(graph::evaluate(g, inputs), run(p, inputs)).error, 1e-5);
}

TEST(LayoutChoice, LockFilesKeepIt) {
  Rng rng(9);
  const Graph g = chain(rng, 4, 0.6);
  const artifact::Program p = compile(g, "net", with_offers(g, 9));
  ASSERT_FALSE(p.plan.layouts.calls.empty());
  EXPECT_EQ(p.plan.layouts.from, From::kMeasured);
  const auto file = std::filesystem::temp_directory_path() /
                    ("layout_choice_" + std::to_string(getpid()) + ".lock");
  files::write_file(file.string(), to_text(p.plan));
  Options again;
  again.target = target::host_target();
  again.optimize = false;
  again.frozen = true;
  again.plan = read_lock(file.string());
  const artifact::Program q = compile(g, "net", again);
  EXPECT_EQ(to_text(q.plan), to_text(p.plan));
  EXPECT_EQ(q.steps.size(), p.steps.size());
  // Layouts of another model are refused, not misread.
  again.plan.layouts.calls.begin()->second = "nobody: split(0,[1,1])";
  EXPECT_THROW(compile(g, "net", again), UserError);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tenon::plan
