// SPDX-License-Identifier: Apache-2.0
// Every family on small odd shapes: the template fits, its program is right in the interpreter for each kind of
// target, and compiled for those that run here.
#include "templates/template.h"

#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/state.h"
#include "templates/cases.h"

namespace tenon::templates {
namespace {

class TemplateTest : public ::testing::TestWithParam<Case> {};

TEST_P(TemplateTest, FitsAndIsRight) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(*dag, rng);
  const auto expected = te::evaluate(*dag, inputs);
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const int cores : {1, 2, 7}) {
      if (kSanitized && (cores != 2 || std::string_view(name) != "x86-64-v4")) continue;
      auto target = std::make_shared<target::Target>(target::parse_target(name));
      target->cpu().cores = cores;
      const schedule::State initial(dag, target);
      const Choice choice = choose(initial);
      if (std::string(name) == "x86-64-v4" && !GetParam().family.empty()) {
        EXPECT_EQ(choice.name, GetParam().family) << ::testing::PrintToString(choice.passed_over);
      }
      const auto state = schedule::replay(initial, choice.trace);
      ASSERT_TRUE(state);
      const bool here = cores == 2 && target::runs_here(*target);
      std::unique_ptr<backend::Compiler> compiler;
      if (here) compiler = backend::make_compiler(*target);
      const auto outcome = fuzz::check_program(*state, inputs, expected, compiler.get());
      EXPECT_FALSE(outcome.refused);
      ASSERT_EQ(outcome.problem, "") << name << " " << cores << " cores\n"
                                     << schedule::to_text(choice.trace, initial);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TemplateTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::templates
