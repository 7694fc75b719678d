// SPDX-License-Identifier: Apache-2.0
// Every family on small odd shapes, as a program for GPUs: the interpreter, which finds races, gives
// the answer of the definition.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/state.h"
#include "templates/cases.h"
#include "templates/template.h"

namespace tenon::templates {
namespace {

class GpuTemplateTest : public ::testing::TestWithParam<Case> {};

TEST_P(GpuTemplateTest, FitsAndIsRight) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(*dag, rng);
  const auto expected = te::evaluate(*dag, inputs);
  for (const target::Target& t : target::gpu_targets()) {
    if (t.gpu().processor != "sm_90" && t.gpu().processor != "simt") continue;
    if (kSanitized && t.gpu().processor != "simt") continue;
    const schedule::State initial(dag, std::make_shared<target::Target>(t));
    const Choice choice = choose(initial);
    const auto state = schedule::replay(initial, choice.trace);
    ASSERT_TRUE(state);
    const auto outcome = fuzz::check_program(*state, inputs, expected);
    EXPECT_FALSE(outcome.refused);
    ASSERT_EQ(outcome.problem, "") << t.name << "\n" << schedule::to_text(choice.trace, initial);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuTemplateTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::templates
