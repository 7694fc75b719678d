// SPDX-License-Identifier: Apache-2.0
// Programs of GPUs in other tasks, and in the task that a table has.
#include <gtest/gtest.h>

#include "history/alike_tasks.h"
#include "history/exact_programs.h"
#include "history/program_table.h"
#include "history/transplant.h"
#include "search/space/spaces.h"

namespace tenon::history {
namespace {

using space::Choices;

task::Task on_card(const task::Task& t) {
  return task::make_task(
      t.dag, {}, std::make_shared<const target::Target>(target::parse_target("cuda sm_90")));
}

KnownTask known(const task::Task& t, const Choices& program) {
  return {t.key, t.label, likeness_of(t), {{*Translator(t).recipe(program), 1}}};
}

std::vector<space::Program> draw(const space::Space& s, size_t n) {
  std::vector<space::Program> out;
  Rng rng(9);
  for (size_t tries = 0; out.size() < n && tries < 50 * n; ++tries) {
    auto p = s.sample(rng);
    if (p) out.push_back(std::move(p.value()));
  }
  return out;
}

TEST(GpuTransplant, CarriesProgramsToTasksThatAreAlike) {
  const task::Task from = on_card(conv({.in = 16, .out = 32, .size = 14, .after = After::kRelu}));
  const task::Task to = on_card(conv({.in = 24, .out = 16, .size = 9, .after = After::kBiasRelu}));
  const auto source = search::make_space("joint", from), space = search::make_space("joint", to);
  const Translator translator(to);
  const auto programs = draw(*source, 24);
  size_t carried = 0;
  for (const space::Program& p : programs) {
    const Recipe recipe = *Translator(from).recipe(p.choices);
    const auto got = transplants(*space, {known(from, p.choices)}, 1);
    if (got.empty()) continue;
    ++carried;
    const auto back = translator.recipe(got[0].program.choices);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->structure, recipe.structure);
    EXPECT_EQ(back->algorithm, recipe.algorithm);
  }
  EXPECT_GT(carried, programs.size() / 2);
}

TEST(ExactPrograms, AreThoseOfTheTable) {
  for (const task::Task& cpu :
       {conv({.in = 16, .size = 9, .after = After::kRelu}), matmul(33, 40, 24), depthwise(8, 7)}) {
    const task::Task t = on_card(cpu);
    const auto space = search::make_space("joint", t);
    size_t found = 0;
    for (const space::Program& p : draw(*space, 8)) {
      const Table table = read_table(to_table({known(t, p.choices)}));
      ASSERT_EQ(table.left_out, 0U);
      const auto trace = ExactPrograms(table.tasks).find(t);
      if (!trace) continue;  // the choices do not say all of it
      ++found;
      EXPECT_EQ(*trace, p.trace);
    }
    EXPECT_GE(found, 6U) << t.label;
  }
}

// Another export of a network names another key for the same work.
TEST(ExactPrograms, AreThoseOfTheSameKindAndSizesUnderAnotherKey) {
  const task::Task t = on_card(conv({.in = 16, .size = 9, .after = After::kRelu}));
  const auto space = search::make_space("joint", t);
  KnownTask other = known(t, draw(*space, 1)[0].choices);
  other.key = "0123456789abcdef";
  const auto trace = ExactPrograms({other}).find(t);
  ASSERT_TRUE(trace);
  EXPECT_EQ(*trace, *ExactPrograms({known(t, draw(*space, 1)[0].choices)}).find(t));
  other.likeness.sizes["depth"] += 1;
  EXPECT_FALSE(ExactPrograms({other}).find(t));
}

TEST(ExactPrograms, AreNotThoseOfTasksThatAreAlike) {
  const task::Task t = on_card(matmul(33, 40, 24)), other = on_card(matmul(33, 40, 25));
  const auto space = search::make_space("joint", t);
  const ExactPrograms programs({known(t, draw(*space, 1)[0].choices)});
  EXPECT_FALSE(programs.empty());
  EXPECT_TRUE(programs.find(t));
  EXPECT_FALSE(programs.find(other));
  EXPECT_TRUE(ExactPrograms({}).empty());
  KnownTask behind = known(t, draw(*space, 1)[0].choices);
  behind.programs[0].relative = 1.1;
  EXPECT_FALSE(ExactPrograms({behind}).find(t)) << "the rules write a faster one";
}

}  // namespace
}  // namespace tenon::history
