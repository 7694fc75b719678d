// SPDX-License-Identifier: Apache-2.0
// Softmax and norms on GPUs: what is kept in shared memory, and every number of threads and rows.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "te/ops.h"
#include "te/text.h"
#include "templates/by_name.h"

namespace tenon::templates {
namespace {

schedule::State state_of(const te::ComputeDag& dag, const std::string& target) {
  return {std::make_shared<const te::ComputeDag>(dag),
          std::make_shared<const target::Target>(target::parse_target(target))};
}

te::ComputeDag softmax_dag(const std::vector<int64_t>& shape) {
  te::Builder b;
  b.output(te::softmax(b, "Y", b.input("X", ir::kF32, shape)));
  return b.finish();
}

// With a residual in front that both reductions need, and one behind that nobody else reads.
te::ComputeDag norm_dag(int64_t rows, int64_t n) {
  te::Builder b;
  const std::vector<int64_t> shape{rows, n};
  const auto sum = te::elementwise(b, "A",
                                   {b.input("X", ir::kF32, shape), b.input("R", ir::kF32, shape),
                                    b.constant("B", ir::kF32, {n})},
                                   [](auto v) { return v[0] + v[1] + v[2]; });
  const auto y = te::layer_norm(b, "N", sum, b.constant("G", ir::kF32, {n}),
                                b.constant("H", ir::kF32, {n}), 1e-5);
  b.output(te::elementwise(b, "Y", {y, b.input("Z", ir::kF32, shape)},
                           [](auto v) { return v[0] + v[1]; }));
  return b.finish();
}

te::ComputeDag sums_dag(int64_t rows, int64_t n) {
  te::Builder b;
  b.output(
      te::reduce_dims(b, "Y", b.input("X", ir::kF32, {rows, n}), ir::BinaryOp::kMax, {1}, false));
  return b.finish();
}

void expect_right(const NamedProgram& p, const schedule::State& initial) {
  Rng rng(1);
  const te::ComputeDag& dag = initial.dag();
  const auto inputs = fuzz::random_inputs(dag, rng);
  const auto outcome = fuzz::check_program(p.state, inputs, te::evaluate(dag, inputs));
  EXPECT_FALSE(outcome.refused) << schedule::to_text(p.trace, initial);
  EXPECT_EQ(outcome.problem, "") << schedule::to_text(p.trace, initial);
}

TEST(GpuRows, AreRightWithAnyNumbers) {
  const std::vector<te::ComputeDag> dags = {softmax_dag({2, 5, 132}), softmax_dag({1, 7, 49}),
                                            softmax_dag({3, 300}),    norm_dag(6, 68),
                                            norm_dag(3, 71),          sums_dag(7, 261)};
  for (const te::ComputeDag& dag : dags) {
    for (const Numbers& numbers :
         {Numbers{}, Numbers{{"threads", 8}, {"rows", 4}}, Numbers{{"threads", 32}, {"rows", 2}},
          Numbers{{"threads", 256}, {"rows", 1}}}) {
      const schedule::State initial = state_of(dag, "cuda simt");
      const auto p = write_with("gpu_rows", initial, {}, numbers);
      ASSERT_TRUE(p);
      expect_right(*p, initial);
    }
  }
}

std::string steps_of(const te::ComputeDag& dag) {
  const schedule::State initial = state_of(dag, "cuda sm_90");
  const Choice choice = choose(initial);
  EXPECT_EQ(choice.name, "gpu_rows");
  return schedule::to_text(choice.trace, initial);
}

// Shapes of BERT. The exponential is computed once; the mean is known to each thread.
TEST(GpuRows, KeepElementsThatAreReadTwice) {
  const std::string softmax = steps_of(softmax_dag({12, 128, 128}));
  EXPECT_NE(softmax.find("set_scope Y.exp shared"), std::string::npos) << softmax;
  EXPECT_NE(softmax.find("set_scope Y.max register"), std::string::npos) << softmax;
  const std::string norm = steps_of(norm_dag(128, 768));
  EXPECT_NE(norm.find("set_scope A shared"), std::string::npos) << norm;
  EXPECT_NE(norm.find("cache_read G "), std::string::npos) << norm;
  EXPECT_NE(norm.find("cache_read Z "), std::string::npos) << norm;
}

// Several rows of a block share the scale of a norm.
TEST(GpuRows, MayBeManyAndShort) {
  const std::string norm = steps_of(norm_dag(4096, 128));
  EXPECT_NE(norm.find("cache_read G "), std::string::npos) << norm;
  steps_of(softmax_dag({4096, 49}));
}

// Rows that shared memory has no room for are read again.
TEST(GpuRows, MayBeLong) {
  const std::string steps = steps_of(softmax_dag({2, 100000}));
  EXPECT_EQ(steps.find("set_scope Y.exp"), std::string::npos) << steps;
}

}  // namespace
}  // namespace tenon::templates
