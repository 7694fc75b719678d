// SPDX-License-Identifier: Apache-2.0
// Every program that a space gives is right, keeps the edges of its task, and follows from the seed.
#include "search/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "cost/features.h"
#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "search/tasks.h"
#include "te/dag.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

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

class SpaceTest : public testing::TestWithParam<Param> {
 protected:
  bool is_of_sketches() const {
    return GetParam().space == "sketch" || GetParam().space == "loops";
  }
  const task::Task& task() const { return GetParam().task.task; }
  std::unique_ptr<Space> space() const { return make_space(GetParam().space, task()); }

  void check(const Candidate& c) {
    ASSERT_EQ(c.hash, schedule::hash(c.trace));
    const schedule::State initial(task().dag, task().target);
    const std::string text = schedule::to_text(c.trace, initial);
    ASSERT_TRUE(task::keeps_edges(task(), c.state)) << text;
    const auto again = schedule::replay(initial, c.trace);
    ASSERT_TRUE(bool(again)) << text;
    ASSERT_EQ(schedule::to_string(*again), schedule::to_string(c.state)) << text;
    const auto bounds = schedule::infer_bounds(*again);
    ASSERT_TRUE(bounds && c.bounds != nullptr);
    ASSERT_EQ(cost::extract(*again, *bounds).values, cost::extract(c.state, *c.bounds).values)
        << text;
    Rng rng(7);
    const auto inputs = fuzz::random_inputs(*task().dag, rng);
    const auto outcome = fuzz::check_program(c.state, inputs, te::evaluate(*task().dag, inputs));
    ASSERT_FALSE(outcome.refused) << text;
    ASSERT_EQ(outcome.problem, "") << text;
  }
};

TEST_P(SpaceTest, EveryProgramIsRight) {
  const auto s = space();
  ASSERT_NE(s, nullptr);
  Rng rng(1);
  std::vector<Candidate> all;
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
  size_t mutated = 0;
  for (int t = 0; t < 60 && mutated < 12; ++t) {
    auto c = s->mutate(rng.pick(all), rng);
    if (!c) continue;
    ++mutated;
    all.push_back(std::move(c.value()));
  }
  if (is_of_sketches()) EXPECT_EQ(mutated, 12u);  // templates may have nothing to vary
  for (int t = 0; t < 12; ++t) {
    auto c = s->cross(rng.pick(all), rng.pick(all), rng);
    if (c) all.push_back(std::move(c.value()));
  }
  for (const Candidate& c : all) {
    check(c);
    if (HasFatalFailure()) return;
  }
  for (const auto& [why, n] : refused) std::printf("%d x %s\n", n, why.c_str());
}

TEST_P(SpaceTest, SameSeedSameCandidates) {
  const auto s = space(), t = space();
  ASSERT_NE(s, nullptr);
  Rng a(3), b(3);
  for (int i = 0; i < 10; ++i) {
    const auto x = s->sample(a), y = t->sample(b);
    ASSERT_EQ(bool(x), bool(y));
    if (!x) continue;
    ASSERT_EQ(schedule::to_json(x->trace), schedule::to_json(y->trace));
    const auto p = s->mutate(*x, a), q = t->mutate(*y, b);
    ASSERT_EQ(bool(p), bool(q));
    if (p) ASSERT_EQ(schedule::to_json(p->trace), schedule::to_json(q->trace));
  }
}

TEST_P(SpaceTest, TakesItsOwnTracesBack) {
  const auto s = space();
  ASSERT_NE(s, nullptr);
  Rng rng(5);
  for (int i = 0; i < 10; ++i) {
    const auto c = s->sample(rng);
    if (!c) continue;
    const auto back = s->adopt(schedule::trace_from_json(schedule::to_json(c->trace)));
    ASSERT_TRUE(bool(back));
    EXPECT_EQ(back->hash, c->hash);
    if (!is_of_sketches()) continue;
    EXPECT_EQ(back->sketch, c->sketch) << schedule::to_text(c->trace, {task().dag, task().target});
  }
  schedule::Trace nonsense{schedule::Vectorize{{99}, {0}}};
  EXPECT_FALSE(s->adopt(nonsense));
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

// What is known to be good comes first, and whatever a part made is changed by that part.
TEST(JointSpace, IsBothOfItsParts) {
  int from_template = 0, from_sketches = 0;
  for (const NamedTask& t : small_tasks()) {
    const schedule::State initial(t.task.dag, t.task.target);
    const auto rule = templates::choose(initial, {t.task.edges, false, {}});
    const auto joint = make_space("joint", t.task);
    EXPECT_EQ(joint->sketches(), make_space("sketch", t.task)->sketches() +
                                     make_space("template", t.task)->sketches());
    if (rule.name != "plain")
      EXPECT_FALSE(make_space("sketch", t.task)->adopt(rule.trace)) << t.name;
    EXPECT_TRUE(joint->adopt(rule.trace)) << t.name;
    const auto first = joint->first();
    ASSERT_GE(first.size(), 1u) << t.name;
    EXPECT_EQ(first[0].hash, schedule::hash(rule.trace)) << t.name;
    EXPECT_EQ(first[0].sketch % 2, 1) << t.name;
    Rng rng(2);
    for (int i = 0; i < 20; ++i) {
      const auto c = joint->sample(rng), other = joint->sample(rng);
      if (!c || !other || c->sketch < 0 || other->sketch < 0) continue;
      ++(c->sketch % 2 == 1 ? from_template : from_sketches);
      const auto changed = joint->mutate(*c, rng);
      if (changed && changed->sketch >= 0) EXPECT_EQ(changed->sketch % 2, c->sketch % 2) << t.name;
      const auto crossed = joint->cross(*c, *other, rng);
      if (c->sketch % 2 != other->sketch % 2) EXPECT_FALSE(crossed) << t.name;
      if (c->sketch % 2 == 0) EXPECT_EQ(joint->adopt(c->trace)->sketch, c->sketch) << t.name;
    }
  }
  EXPECT_GT(from_template, 30);
  EXPECT_GT(from_sketches, 200);
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
