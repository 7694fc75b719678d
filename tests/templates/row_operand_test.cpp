// SPDX-License-Identifier: Apache-2.0
// A layer norm inside the task of the product behind it: before all of it, and for the rows of a
// tile.
#include "te/row_operand.h"

#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/state.h"
#include "te/ops.h"
#include "templates/by_name.h"

namespace tenon::templates {
namespace {

struct Form {
  std::vector<int64_t> rows;
  int64_t k = 1, columns = 1;
};

te::ComputeDag pre_norm(const Form& f) {
  te::Builder b;
  std::vector<int64_t> shape = f.rows;
  shape.push_back(f.k);
  const auto x = b.input("X", ir::kF32, shape);
  const auto w = b.constant("W", ir::kF32, {f.k, f.columns});
  const auto g = b.constant("G", ir::kF32, {f.k}), h = b.constant("H", ir::kF32, {f.k});
  const auto n = te::layer_norm(b, "N", x, g, h, 1e-5);
  const auto y = te::batch_matmul(b, "Y", n, w);
  const auto bias = b.constant("B", ir::kF32, {f.columns});
  const auto sum = te::elementwise(b, "S", {y, bias}, [](auto e) { return e[0] + e[1]; });
  b.output(te::relu(b, "O", sum));
  return b.finish();
}

std::vector<Form> forms() {
  return {{{1}, 33, 20},    {{5}, 48, 33},       {{17}, 64, 96},   {{17}, 7, 5},
          {{3, 5}, 40, 48}, {{1, 2, 9}, 96, 64}, {{64}, 128, 128}, {{1, 17}, 300, 17}};
}

int nests(const schedule::State& s) {
  int n = 0;
  for (const schedule::StageId id : s.order()) {
    n += !s.stage(id).is_input() && s.stage(id).place == schedule::Place::kRoot ? 1 : 0;
  }
  return n;
}

schedule::State initial_of(const te::ComputeDag& dag, const std::string& target) {
  return schedule::State(std::make_shared<const te::ComputeDag>(dag),
                         std::make_shared<const target::Target>(target::parse_target(target)));
}

void check(const schedule::State& initial, const schedule::Trace& trace, int expected_nests) {
  const auto s = schedule::replay(initial, trace);
  ASSERT_TRUE(s);
  if (expected_nests > 0) {
    EXPECT_EQ(nests(*s), expected_nests) << schedule::to_string(*s);
  }
  Rng rng(7);
  const auto inputs = fuzz::random_inputs(initial.dag(), rng);
  const auto outcome = fuzz::check_program(*s, inputs, te::evaluate(initial.dag(), inputs));
  EXPECT_FALSE(outcome.refused);
  EXPECT_EQ(outcome.problem, "") << schedule::to_text(trace, initial);
}

void check(const te::ComputeDag& made, const Request& request, const std::string& target,
           const std::string& expected_name, int expected_nests) {
  const schedule::State initial = initial_of(made, target);
  const Choice choice = choose(initial, request);
  EXPECT_EQ(choice.name, expected_name) << ::testing::PrintToString(choice.passed_over);
  check(initial, choice.trace, expected_nests);
}

TEST(RowOperand, IsFoundInFrontOfAProduct) {
  for (const Form& f : forms()) {
    const te::ComputeDag dag = pre_norm(f);
    const auto found = te::find_row_operand(dag);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->product->name(), "Y");
    EXPECT_EQ(found->rows.back()->name(), "N");
    EXPECT_EQ(found->w.name(), "W");
  }
}

TEST(RowOperand, BeforehandAndByBlockAreRight) {
  for (const Form& f : forms()) {
    for (const int64_t at : {1, 2}) {
      for (const char* target : {"x86-64-v2 cores=1", "x86-64-v3 cores=2", "x86-64-v4 cores=2"}) {
        SCOPED_TRACE(std::to_string(f.k) + " to " + std::to_string(f.columns) + " at " +
                     std::to_string(at) + " on " + target);
        const schedule::State initial = initial_of(pre_norm(f), target);
        const auto program = write_with("matmul", initial, {}, {{"at", at}});
        ASSERT_TRUE(program.has_value());
        EXPECT_EQ(program->numbers.at("at"), at);
        check(initial, program->trace, at == 2 ? 1 : 0);
      }
    }
  }
}

// By itself it takes blocks where weights are small and there are enough rows.
TEST(RowOperand, TheRuleKnowsWhenWeightsAreReadAgain) {
  check(pre_norm({{52}, 32, 64}), {}, "x86-64-v4 cores=2", "matmul", 1);
  const auto initial = initial_of(pre_norm({{64}, 1024, 4096}), "x86-64-v4 cores=2");
  Request direct;
  direct.algorithm = 0;
  const auto program = write_with("matmul", initial, direct, {});
  ASSERT_TRUE(program.has_value());
  EXPECT_EQ(program->numbers.at("at"), 1);
}

TEST(RowOperand, IsDoneBeforeOtherAlgorithms) {
  Request request;
  request.algorithm = 1 + static_cast<int64_t>(schedule::Algorithm::kStrassen);
  for (const Form& f : {Form{{16}, 64, 64}, Form{{1, 17}, 32, 96}})
    check(pre_norm(f), request, "x86-64-v4 cores=2", "strassen", 0);
}

}  // namespace
}  // namespace tenon::templates
