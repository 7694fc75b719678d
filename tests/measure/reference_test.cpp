// SPDX-License-Identifier: Apache-2.0
#include "measure/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/tasks.h"

namespace tenon::measure {
namespace {

TEST(Reference, SeesWhatRoundingDoesNotExplain) {
  const te::ComputeDag dag = te::parse("input A: f32[3]\nB[i: 3] = A[i] * 2.0\noutput B\n");
  const auto array = [](double a, double b, double c) {
    ir::Array x(ir::kF32, {3});
    x.set_double(0, a);
    x.set_double(1, b);
    x.set_double(2, c);
    return x;
  };
  const Case c = {{}, {array(1, 2, INFINITY)}};
  EXPECT_EQ(differs(dag, c, {array(1, 2 + 1e-7, INFINITY)}), "");
  EXPECT_NE(differs(dag, c, {array(1, 2.001, INFINITY)}), "");
  EXPECT_NE(differs(dag, c, {array(1, NAN, INFINITY)}), "");
  EXPECT_NE(differs(dag, c, {array(1, 2, 5)}), "");
  const Case nan = {{}, {array(1, NAN, 2)}};
  EXPECT_EQ(differs(dag, nan, {array(1, NAN, 2)}), "");
  EXPECT_NE(differs(dag, nan, {array(1, 0, 2)}), "");
}

// Which loop of each stage is dealt out to the threads; "-" where none is.
std::string parallel_loops(const std::string& text) {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(text));
  const task::Task t =
      task::make_task(dag, {}, std::make_shared<const target::Target>(target::host_target()));
  const schedule::State plain(t.dag, t.target);
  const schedule::Trace trace = on_all_cores(t);
  const auto scheduled = schedule::replay(plain, trace);
  EXPECT_TRUE(bool(scheduled)) << text;
  std::string found;
  for (const schedule::StageId id : scheduled->order()) {
    const schedule::Stage& stage = scheduled->stage(id);
    if (stage.op == nullptr) continue;  // an input
    EXPECT_EQ(stage.leaves, plain.stage(id).leaves) << "the order of summation is the definition's";
    std::string marked;
    for (const schedule::LoopId l : stage.leaves) {
      const schedule::Loop& loop = stage.loop(l);
      if (loop.mark == schedule::Mark::kNone) continue;
      EXPECT_EQ(loop.mark, schedule::Mark::kParallel);
      marked += std::to_string(l);
    }
    found += fmt::format("{} {} ", stage.name, marked.empty() ? "-" : marked);
  }
  return found;
}

TEST(Reference, TheDefinitionRunsOnAllCores) {
  EXPECT_EQ(parallel_loops("input A: f32[7, 5]\nB[i: 7, j: 5] = A[i, j]\noutput B\n"), "B 0 ");
  EXPECT_EQ(parallel_loops("input A: f32[1, 1, 2]\nB[n: 1, i: 1, j: 2] = A[n, i, j]\noutput B\n"),
            "B 2 ")
      << "a loop of one iteration has nothing to deal out";
  EXPECT_EQ(parallel_loops("input A: f32[1, 9]\nS[i: 1] = sum(j: 9) A[i, j]\n"
                           "B[i: 3, j: 9] = A[0, j] * S[0]\noutput B\n"),
            "S - B 0 ")
      << "what is summed up stays in one thread";
}

}  // namespace
}  // namespace tenon::measure
