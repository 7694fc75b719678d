// SPDX-License-Identifier: Apache-2.0
#include "compile/memory_check.h"

#include <gtest/gtest.h>

#include "compile/compile.h"
#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "plan/layout_rules.h"

namespace tenon::compile {
namespace {

using artifact::Param;
using artifact::Place;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Exprs = std::span<const ir::Expr>;

Options plain_options() {
  Options o;
  o.target = target::host_target();
  o.optimize = false;
  o.fuse = false;
  o.schedule = false;
  return o;
}

// s = x + 1 is read once in each of `readers` steps, between which other values come and go.
Graph many_readers(int readers) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {5, 7});
  const ValueId s =
      b.elementwise("inc", {x}, [](Exprs e) { return e[0] + ir::make_float(ir::kF32, 1); });
  ValueId y =
      b.elementwise("half", {s}, [](Exprs e) { return e[0] * ir::make_float(ir::kF32, 0.5); });
  for (int i = 0; i < readers; ++i) {
    y = b.transpose(b.transpose(y, {1, 0}), {1, 0});
    y = b.elementwise("mean", {y, s},
                      [](Exprs e) { return (e[0] + e[1]) * ir::make_float(ir::kF32, 0.5); });
  }
  g.add_output(y, "y");
  return g;
}

// Counters of touches once had eight bits; a value read 256 times lost its place.
TEST(MemoryPlan, KeepsValuesWithHundredsOfReaders) {
  for (const int readers : {1, 127, 128, 254, 255, 256, 257, 511, 512}) {
    SCOPED_TRACE(readers);
    const Graph g = many_readers(readers);
    Rng rng(static_cast<uint64_t>(readers));
    const auto inputs = graph::random_inputs(rng, g);
    const artifact::Program p = compile(g, "readers", plain_options());
    EXPECT_LT(graph::compare(graph::evaluate(g, inputs), run(p, inputs)).error, 1e-6);
  }
}

// A program with its plan, to be damaged.
struct Compiled {
  Graph g;
  graph::Partition partition;
  plan::LayoutPlan plan;
  artifact::Program program;

  explicit Compiled(Graph graph) : g(std::move(graph)) {
    graph::own_outputs(g);
    g.compact();
    const Options options = plain_options();
    partition = graph::partition(g, {options.fuse, {}});
    plan = plan::plan_layouts(plan::LayoutRules(g, partition, nullptr), {});
    program = compile(g, "damaged", options);
  }
  void check() const { check_memory(g, partition, plan, program); }
};

TEST(MemoryCheck, AcceptsRandomGraphs) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    EXPECT_NO_THROW(Compiled(graph::random_graph(rng, 12)).check());
  }
}

// Any parameter in the arena that is moved to another value's place makes some step read what is not its own.
TEST(MemoryCheck, FindsEveryParameterThatLiesElsewhere) {
  Compiled c(many_readers(3));
  ASSERT_NO_THROW(c.check());
  int moved = 0;
  for (artifact::Step& step : c.program.steps) {
    for (Param& p : step.params) {
      if (p.place != Place::kArena) continue;
      const Param before = p;
      for (int64_t offset = 0; offset < c.program.arena_bytes; offset += 64) {
        if (offset == before.offset) continue;
        p.offset = offset;
        EXPECT_THROW(c.check(), InternalError) << "from " << before.offset << " to " << offset;
        ++moved;
      }
      p = before;
    }
  }
  EXPECT_GT(moved, 20);
}

TEST(MemoryCheck, FindsOverlapsInPart) {
  Compiled c(many_readers(2));
  for (artifact::Step& step : c.program.steps) {
    Param& out = step.params.back();
    if (out.place != Place::kArena) continue;
    out.bytes += 4096;
    EXPECT_THROW(c.check(), InternalError);
    out.bytes -= 4096;
  }
  ASSERT_NO_THROW(c.check());
}

TEST(MemoryCheck, FindsOutputsThatAreOverwrittenOrNeverWritten) {
  Graph g;
  GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {6});
  g.add_output(b.elementwise("a", {x}, [](Exprs e) { return e[0] + ir::make_float(ir::kF32, 1); }),
               "a");
  g.add_output(b.elementwise("b", {x}, [](Exprs e) { return e[0] - ir::make_float(ir::kF32, 1); }),
               "b");
  Compiled c(std::move(g));
  ASSERT_NO_THROW(c.check());
  ASSERT_EQ(c.program.steps[1].params.back().place, Place::kOutput);
  c.program.steps[1].params.back().index = 1 - c.program.steps[1].params.back().index;
  EXPECT_THROW(c.check(), InternalError);
}

TEST(MemoryCheck, FindsKernelsThatWriteOverInputsTheyWereNotToldOf) {
  Compiled c(many_readers(2));
  bool shares = false;
  for (const artifact::Step& step : c.program.steps) {
    auto& f = c.program.kernels[static_cast<size_t>(step.kernel)].function;
    const int32_t told = f.in_place;
    if (told < 0) continue;
    const Param& in = step.params[static_cast<size_t>(told)];
    const Param& out = step.params.back();
    if (in.place != Place::kArena || out.place != Place::kArena || in.offset != out.offset)
      continue;
    shares = true;
    f.in_place = -1;
    EXPECT_THROW(c.check(), InternalError);
    f.in_place = told;
  }
  EXPECT_TRUE(shares);
}

}  // namespace
}  // namespace tenon::compile
