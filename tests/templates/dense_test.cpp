// SPDX-License-Identifier: Apache-2.0
// Products of few rows on many cores: every core has something to do, and the result is right.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/state.h"
#include "te/ops.h"
#include "templates/by_name.h"

namespace tenon::templates {
namespace {

struct Dense {
  int64_t rows, k, columns;
  int cores;
  int64_t pieces;  // at least; fewer than cores where no other cut is better balanced
};

schedule::State initial_of(const Dense& d) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {d.rows, d.k});
  const auto w = b.constant("W", ir::kF32, {d.k, d.columns});
  const auto bias = b.constant("B", ir::kF32, {d.columns});
  const auto y = te::matmul(b, "Y", x, w, false, false);
  b.output(te::elementwise(b, "O", {y, bias}, [](auto e) { return e[0] + e[1]; }));
  auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
  target->cpu().cores = d.cores;
  target->cpu().parallel_vectors = 8;  // small products are worth it too
  return schedule::State(std::make_shared<const te::ComputeDag>(b.finish()), target);
}

// Iterations of the parallel loop of the result; 1: there is none.
int64_t pieces_of(const schedule::State& s) {
  int64_t most = 1;
  for (const schedule::StageId id : s.order()) {
    const schedule::Stage& stage = s.stage(id);
    if (!stage.output) continue;
    for (const schedule::LoopId l : stage.leaves) {
      if (stage.loop(l).mark == schedule::Mark::kParallel)
        most = std::max(most, stage.loop(l).extent);
    }
  }
  return most;
}

TEST(Dense, FewRowsAreSharedOutToAllCores) {
  for (const Dense& d :
       {Dense{1, 96, 768, 16, 16}, Dense{1, 130, 1000, 16, 16}, Dense{1, 64, 250, 7, 6},
        Dense{3, 64, 500, 16, 16}, Dense{20, 33, 300, 16, 16}, Dense{37, 48, 129, 7, 5}}) {
    SCOPED_TRACE(std::to_string(d.rows) + "x" + std::to_string(d.k) + "x" +
                 std::to_string(d.columns) + " on " + std::to_string(d.cores));
    const schedule::State initial = initial_of(d);
    const auto program = write_with("matmul", initial, {}, {});
    ASSERT_TRUE(program.has_value());
    const auto s = schedule::replay(initial, program->trace);
    ASSERT_TRUE(s);
    EXPECT_GE(pieces_of(*s), d.pieces) << schedule::to_string(*s);
    Rng rng(7);
    const auto inputs = fuzz::random_inputs(initial.dag(), rng);
    const auto outcome = fuzz::check_program(*s, inputs, te::evaluate(initial.dag(), inputs));
    EXPECT_FALSE(outcome.refused);
    EXPECT_EQ(outcome.problem, "") << schedule::to_text(program->trace, initial);
  }
}

}  // namespace
}  // namespace tenon::templates
