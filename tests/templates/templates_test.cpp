// SPDX-License-Identifier: Apache-2.0
// Every family on small odd shapes: the template fits, its program is right in the interpreter for each kind of
// target, and compiled for those that run here.
#include "templates/template.h"

#include <gtest/gtest.h>

#include <map>

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
      if (kSanitized && cores != 2) continue;
      auto target = std::make_shared<target::Target>(target::parse_target(name));
      target->cores = cores;
      const schedule::State initial(dag, target);
      const Choice choice = choose(initial);
      if (std::string(name) == "x86-64-v4" && !GetParam().family.empty()) {
        EXPECT_EQ(choice.name, GetParam().family) << ::testing::PrintToString(choice.passed_over);
      }
      const auto state = schedule::replay(initial, choice.trace);
      ASSERT_TRUE(state);
      const bool here = cores == 2 && target::runs_here(*target);
      std::unique_ptr<backend::llvm_cpu::Compiler> compiler;
      if (here) compiler = std::make_unique<backend::llvm_cpu::Compiler>(*target);
      const auto outcome = fuzz::check_program(*state, inputs, expected, compiler.get());
      EXPECT_FALSE(outcome.refused);
      ASSERT_EQ(outcome.problem, "") << name << " " << cores << " cores\n"
                                     << schedule::to_text(choice.trace, initial);
    }
  }
}

// Filling a skeleton is reading the filled text.
TEST_P(TemplateTest, SkeletonsFillLikeText) {
  const schedule::State initial(
      std::make_shared<const te::ComputeDag>(GetParam().make()),
      std::make_shared<const target::Target>(target::parse_target("x86-64-v4 cores=2")));
  const Choice rule = choose(initial);
  const auto plan_of = [&](const Knobs& given) {
    for (const Template& t : templates()) {
      if (t.name == rule.name) return t.plan(initial, {.given = given});
    }
    return std::optional<Plan>();
  };
  Rng rng(1);
  std::map<std::string, Skeleton> skeletons;  // by text
  for (int i = 0; i < 20; ++i) {
    Knobs given;
    for (const auto& [knob, most] : rule.plan.free) given[knob] = rng.between(1, most);
    const auto plan = plan_of(given);
    ASSERT_TRUE(plan.has_value());
    try {
      const auto wanted = schedule::parse_trace(fill(plan->text, plan->knobs), initial);
      const auto& skeleton = skeletons.try_emplace(plan->text, *plan, initial).first->second;
      ASSERT_EQ(schedule::to_json(skeleton.fill(plan->knobs)), schedule::to_json(wanted));
      ASSERT_LE(skeleton.fixed_steps(), wanted.size());
      const schedule::Trace first(
          wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(skeleton.fixed_steps()));
      const auto state = schedule::replay(initial, first);
      ASSERT_TRUE(bool(state));
      ASSERT_EQ(schedule::to_string(*state), schedule::to_string(skeleton.fixed()));
    } catch (const UserError&) {
      continue;  // values that do not fit
    }
  }
  EXPECT_FALSE(skeletons.empty());
}

INSTANTIATE_TEST_SUITE_P(Families, TemplateTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::templates
