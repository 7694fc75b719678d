// SPDX-License-Identifier: Apache-2.0
// Networks in which depthwise convolutions are computed with the pointwise one behind them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "artifact/manifest.h"
#include "compile/compile.h"
#include "compile/run.h"
#include "files/file.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "plan/text.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Exprs = std::span<const ir::Expr>;

struct Block {
  int64_t images, channels, height, width, out, kernel, stride;
};

// Two inverted bottlenecks as MobileNet-V2 has them, the second one with a residual sum.
Graph bottlenecks(const Block& s) {
  Rng rng(static_cast<uint64_t>(s.height));
  Graph g;
  GraphBuilder b(g);
  const auto weight = [&](graph::Shape shape) {
    return b.constant(graph::random_array(rng, ir::kF32, shape));
  };
  const auto clip = [&](ValueId v, const std::string& name) {
    return b.elementwise(name, {v}, [](Exprs e) {
      return ir::min(ir::max(e[0], ir::make_float(ir::kF32, 0)), ir::make_float(ir::kF32, 6));
    });
  };
  const auto block = [&](ValueId x, int64_t stride, const std::string& suffix) {
    x = b.add("expand" + suffix, graph::Conv{}, {x, weight({s.channels, b.shape(x)[1], 1, 1})});
    te::ConvParams p;
    p.pad_before = p.pad_after = {s.kernel / 2, s.kernel / 2};
    p.stride = {stride, stride};
    p.groups = s.channels;
    x = b.add("depthwise", graph::Conv{p}, {x, weight({s.channels, 1, s.kernel, s.kernel})});
    const ValueId bias = weight({s.channels, 1, 1});
    x = b.elementwise("add", {x, bias}, [](Exprs e) { return e[0] + e[1]; });
    x = clip(x, "d" + suffix);
    return b.add("p" + suffix, graph::Conv{}, {x, weight({s.out, s.channels, 1, 1})});
  };
  const ValueId x = b.input("x", ir::kF32, {s.images, 5, s.height, s.width});
  const ValueId y = block(x, s.stride, "1");
  const ValueId z = block(y, 1, "2");
  g.add_output(b.elementwise("sum", {y, z}, [](Exprs e) { return e[0] + e[1]; }), "y");
  return g;
}

Options host() {
  Options o;
  o.target = target::host_target();
  return o;
}

Options with_pairs(const std::set<std::string>& names) {
  Options o = host();
  for (const std::string& name : names) o.plan.pairs.calls[name] = "";
  return o;
}

std::vector<std::string> calls(const artifact::Program& p) {
  std::vector<std::string> out;
  for (const artifact::Step& s : p.steps) {
    if (!s.call.empty()) out.push_back(s.call);
  }
  return out;
}

TEST(ComputedPairs, GiveTheAnswerOfTheInterpreter) {
  for (const Block& s : {Block{1, 32, 19, 13, 24, 3, 1}, Block{1, 24, 17, 29, 16, 3, 2},
                         Block{2, 16, 7, 11, 40, 5, 1}, Block{1, 40, 1, 3, 8, 3, 1}}) {
    SCOPED_TRACE(s.height);
    const Graph g = bottlenecks(s);
    Rng rng(5);
    const auto inputs = graph::random_inputs(rng, g);
    const auto expected = graph::evaluate(g, inputs);
    using Names = std::set<std::string>;
    for (const Names& pairs : {Names{}, Names{"p1"}, Names{"sum"}, Names{"*"}}) {
      Options o = with_pairs(pairs);
      const artifact::Program p = compile(g, "net", o);
      const bool all = pairs.contains("*");
      EXPECT_EQ(p.plan.pairs.calls.size(), all ? 2U : pairs.size());
      const auto paired = std::count_if(p.plan.tasks.begin(), p.plan.tasks.end(),
                                        [](const auto& t) { return t.origin == "template pair"; });
      EXPECT_EQ(static_cast<size_t>(paired), p.plan.pairs.calls.size());
      for (const int threads : {1, 2}) {
        const auto d = graph::compare(expected, run(p, inputs, threads));
        EXPECT_LT(d.error, 1e-5) << d.where;
      }
    }
  }
}

TEST(ComputedPairs, ThePairHasTheNameOfItsSecondCall) {
  const Graph g = bottlenecks({1, 16, 9, 7, 8, 3, 1});
  EXPECT_EQ(calls(compile(g, "net", host())),
            (std::vector<std::string>{"expand1", "d1", "p1", "expand2", "d2", "sum"}));
  const artifact::Program p = compile(g, "net", with_pairs({"*"}));
  EXPECT_EQ(calls(p), (std::vector<std::string>{"expand1", "p1", "expand2", "sum"}));
  EXPECT_EQ(p.plan.pairs.calls, (std::map<std::string, std::string>{{"p1", "d1"}, {"sum", "d2"}}));
}

TEST(ComputedPairs, LockFilesKeepThem) {
  const Graph g = bottlenecks({1, 16, 9, 7, 8, 3, 1});
  const artifact::Program p = compile(g, "net", with_pairs({"sum"}));
  const auto file =
      std::filesystem::temp_directory_path() / ("pairs_" + std::to_string(getpid()) + ".lock");
  files::write_file(file.string(), plan::to_text(p.plan));
  Options again = host();
  again.frozen = true;
  again.plan = plan::read_lock(file.string());
  EXPECT_EQ(again.plan.pairs.calls, (std::map<std::string, std::string>{{"sum", "d2"}}));
  EXPECT_EQ(again.plan.pairs.from, plan::From::kGiven);
  const artifact::Program q = compile(g, "net", again);
  EXPECT_EQ(plan::to_text(q.plan), plan::to_text(p.plan));
  EXPECT_EQ(artifact::manifest_text(q), artifact::manifest_text(p));
  // A file that says "*" decides the same as one that names them all.
  again.frozen = false;
  again.plan.pairs.calls = {{"*", ""}};
  const artifact::Program all = compile(g, "net", again);
  again.plan.pairs.calls = {{"p1", ""}, {"sum", ""}};
  EXPECT_EQ(plan::to_text(compile(g, "net", again).plan), plan::to_text(all.plan));
  // Pairs of another model are refused.
  again.plan.pairs.calls = {{"p3", ""}};
  EXPECT_THROW(compile(g, "net", again), UserError);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tenon::compile
