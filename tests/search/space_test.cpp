// SPDX-License-Identifier: Apache-2.0
// Every program that a space gives is right, keeps the edges of its task, and follows from the seed.
#include "search/space/spaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "search/programs.h"
#include "search/strategy/mutation.h"
#include "search/tasks.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

using space::HoleKind;
using space::Partial;
using space::Program;

struct Param {
  std::string space;
  NamedTask task;
};
void PrintTo(const Param& p, std::ostream* out) { *out << p.space << " " << p.task.name; }

std::vector<Param> params() {
  std::vector<Param> out;
  for (const SpaceRow& r : spaces()) {
    for (const NamedTask& t : small_tasks()) out.push_back({std::string(r.name), t});
  }
  return out;
}

int64_t value_of(const space::Choices& c, HoleKind kind) {
  for (const space::Choice& x : c) {
    if (x.hole.kind == kind) return x.value;
  }
  return -1;
}

class SpaceTest : public testing::TestWithParam<Param> {
 protected:
  bool is_of_sketches() const {
    return GetParam().space == "sketch" || GetParam().space == "loops";
  }
  const task::Task& task() const { return GetParam().task.task; }
  std::unique_ptr<space::Space> space() const { return make_space(GetParam().space, task()); }
  std::string text(const Program& p) const {
    return schedule::to_text(p.trace, {task().dag, task().target}) + to_json(p.choices);
  }
};

TEST_P(SpaceTest, EveryProgramIsRight) {
  const auto s = space();
  ASSERT_NE(s, nullptr);
  Rng rng(1);
  std::vector<Program> all;
  std::map<std::string, int> refused;
  int drawn = 0;
  constexpr int kSamples = 8;
  for (; drawn < 10 * kSamples && all.size() < kSamples; ++drawn) {
    auto c = s->sample(rng);
    if (c)
      all.push_back(std::move(c.value()));
    else
      ++refused[std::string(illegal_name(c.illegal().code))];
  }
  ASSERT_EQ(all.size(), size_t{kSamples});
  EXPECT_LE(drawn, 3 * kSamples);
  size_t changed = 0;
  for (int t = 0; t < 60 && changed < 12; ++t) {
    auto c = mutated(*s, rng.pick(all), rng);
    if (!c) continue;
    ++changed;
    all.push_back(std::move(c.value()));
  }
  if (is_of_sketches()) EXPECT_EQ(changed, 12u);  // templates may have nothing to vary
  for (int t = 0; t < 12; ++t) {
    auto c = crossed(*s, rng.pick(all), rng.pick(all), rng);
    if (c) all.push_back(std::move(c.value()));
  }
  for (const Program& p : all) ASSERT_EQ(fault_of(task(), p), "");
  for (const auto& [why, n] : refused) std::printf("%d x %s\n", n, why.c_str());
}

TEST_P(SpaceTest, SameSeedSamePrograms) {
  const auto s = space(), t = space();
  ASSERT_NE(s, nullptr);
  Rng a(3), b(3);
  for (int i = 0; i < 10; ++i) {
    const auto x = s->sample(a), y = t->sample(b);
    ASSERT_EQ(bool(x), bool(y));
    if (!x) continue;
    ASSERT_EQ(schedule::to_json(x->trace), schedule::to_json(y->trace));
    const auto p = mutated(*s, *x, a), q = mutated(*t, *y, b);
    ASSERT_EQ(bool(p), bool(q));
    if (p) ASSERT_EQ(schedule::to_json(p->trace), schedule::to_json(q->trace));
  }
}

TEST_P(SpaceTest, MutantsAreNotTheirParents) {
  const auto s = space();
  ASSERT_NE(s, nullptr);
  Rng rng(5);
  std::optional<Program> parent;
  while (!parent) {
    if (auto drawn = s->sample(rng)) parent = std::move(drawn.value());
  }
  int changed = 0;
  std::map<std::string, int> refused;
  for (int t = 0; t < 80; ++t) {
    const auto c = mutated(*s, *parent, rng);
    if (!c) {
      ++refused[std::string(illegal_name(c.illegal().code))];
      continue;
    }
    ++changed;
    ASSERT_NE(c->hash, parent->hash);
    ASSERT_NE(c->choices, parent->choices);
  }
  if (is_of_sketches()) {
    EXPECT_GE(changed, 10);
    EXPECT_GE(refused["kUnwanted"], 1) << "of 80 wishes some lead back";
  }
}

// One choice after the other: every prefix offers two values or more, or is complete.
TEST_P(SpaceTest, PrefixesAreFirstClass) {
  const auto s = space();
  ASSERT_NE(s, nullptr);
  Rng rng(9);
  for (int i = 0; i < 4; ++i) {
    Partial p;
    while (const auto hole = s->next(p)) {
      ASSERT_GE(hole->domain.size(), 2u) << hole->name;
      ASSERT_TRUE(hole->domain.contains(hole->rule)) << hole->name;
      ASSERT_FALSE(bool(s->choose(p, hole->domain.at(hole->domain.size() - 1) + 1)));
      p = *s->choose(p, hole->domain.draw(rng));
      ASSERT_LT(p.made.size(), 200u);
    }
    const auto program = s->build(p);
    if (!program) continue;  // refused with a reason
    EXPECT_EQ(program->choices, p.made);
    EXPECT_EQ(fault_of(task(), *program), "");
  }
}

TEST_P(SpaceTest, RecognisesItsOwnTraces) {
  const auto s = space();
  ASSERT_NE(s, nullptr);
  Rng rng(5);
  for (int i = 0; i < 10; ++i) {
    const auto c = s->sample(rng);
    if (!c) continue;
    const auto trace = schedule::trace_from_json(schedule::to_json(c->trace));
    const auto known = s->recognise(trace);
    ASSERT_TRUE(known.has_value()) << text(*c);
    EXPECT_EQ(known->made, c->choices) << text(*c) << "\n" << to_json(known->made);
    const auto back = s->adopt(trace, c->choices);
    ASSERT_TRUE(bool(back));
    EXPECT_EQ(back->hash, c->hash);
    EXPECT_EQ(back->choices, c->choices);
  }
  schedule::Trace nonsense{schedule::Vectorize{{99}, {0}}};
  EXPECT_FALSE(s->adopt(nonsense));
  EXPECT_FALSE(s->recognise(nonsense));
}

// Sketches store operands in the order of their loops somewhere; loops alone never touch how a tensor lies.
TEST(LoopSpace, LeavesEveryTensorAsItLies) {
  const auto layouts_of = [](const task::Task& t, const std::string& name) {
    const auto s = make_space(name, t);
    size_t changed = 0;
    Rng rng(7);
    for (int i = 0; i < 12; ++i) {
      const auto c = s->sample(rng);
      if (!c) continue;
      for (size_t id = 0; id < c->state.size(); ++id) {
        changed += c->state.stage(static_cast<schedule::StageId>(id)).layout.is_identity() ? 0 : 1;
      }
    }
    return changed;
  };
  size_t by_sketches = 0;
  for (const NamedTask& t : small_tasks()) {
    const auto& edges = t.task.edges;
    if (!std::all_of(edges.begin(), edges.end(),
                     [](const auto& e) { return e.second.is_identity(); }))
      continue;
    by_sketches += layouts_of(t.task, "sketch");
    EXPECT_EQ(layouts_of(t.task, "loops"), 0u) << t.name;
  }
  EXPECT_GT(by_sketches, 0u);
}

// What is known to be good comes first, and both templates and sketches are reached, under several algorithms.
TEST(JointSpace, HasTemplatesAndSketchesOfEveryAlgorithm) {
  int from_template = 0, from_sketches = 0;
  std::map<int64_t, int> sketched;  // by algorithm
  for (const NamedTask& t : small_tasks()) {
    const schedule::State initial(t.task.dag, t.task.target);
    const auto rule = templates::choose(initial, {.fixed = t.task.edges, .borders = false});
    const auto joint = make_space("joint", t.task);
    const auto first = joint->first();
    ASSERT_GE(first.size(), 1u) << t.name;
    EXPECT_EQ(first[0].hash, schedule::hash(rule.trace)) << t.name;
    EXPECT_TRUE(joint->adopt(rule.trace)) << t.name;
    if (rule.name != "plain") {
      const auto foreign = make_space("sketch", t.task)->adopt(rule.trace);
      EXPECT_TRUE(!foreign || foreign->choices.empty()) << t.name;
    }
    Rng rng(2);
    for (int i = 0; i < 30; ++i) {
      const auto c = joint->sample(rng);
      if (!c) continue;
      const bool sketch = value_of(c->choices, HoleKind::kStructure) > 0;
      ++(sketch ? from_sketches : from_template);
      if (sketch) ++sketched[std::max<int64_t>(0, value_of(c->choices, HoleKind::kAlgorithm))];
    }
  }
  EXPECT_GT(from_template, 30);
  EXPECT_GT(from_sketches, 200);
  EXPECT_GE(sketched.size(), 3u) << "algorithms that sketches reach";
}

std::string name_of(const testing::TestParamInfo<Param>& info) {
  std::string name = info.param.space + "_" + info.param.task.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Tasks, SpaceTest, testing::ValuesIn(params()), name_of);

}  // namespace
}  // namespace tenon::search
