// SPDX-License-Identifier: Apache-2.0
// Searching among recorded programs.
#include "tune/replay_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "search/space/spaces.h"
#include "search/strategy/mutation.h"
#include "search/tasks.h"

namespace tenon::tune {
namespace {

using task::Outcome;

task::Task product(int64_t m, int64_t n, int64_t k) {
  return search::make_task([=](te::Builder& b) {
    const auto x = b.input("A", ir::kF32, {m, k});
    b.output(te::matmul(b, "C", x, b.constant("W", ir::kF32, {k, n})));
  });
}

// So many different programs with times of the pretend device, a few of them failures.
std::vector<task::Measurement> records(const task::Task& t, size_t programs) {
  const auto space = search::make_space("sketch", t);
  const auto device =
      measure::sim_measurer({.seed = 5, .protocol = {}, .noise = 0, .failures = 0.1});
  Rng rng(3);
  std::set<uint64_t> seen;
  std::vector<schedule::Trace> traces;
  while (traces.size() < programs) {
    const auto c = space->sample(rng);
    if (c && seen.insert(c->hash).second) traces.push_back(c->trace);
  }
  return measure::measure(*device, t, traces, 0, nullptr);
}

std::shared_ptr<const ReplaySpace> recorded(size_t programs) {
  const task::Task t = product(24, 34, 31);
  return std::make_shared<const ReplaySpace>(t, records(t, programs));
}

TEST(ReplaySpace, TheSpaceHoldsWhatWasMeasuredAndNothingElse) {
  const auto r = recorded(60);
  ASSERT_EQ(r->programs().size(), 60u);
  const auto space = replay_space(r);
  Rng rng(1);
  std::set<size_t> sampled;
  size_t crossed = 0, changed = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto a = space->sample(rng);
    ASSERT_TRUE(a);
    sampled.insert(r->index_of(a->hash));
    const auto b = search::mutated(*space, *a, rng);
    if (!b) continue;
    ++changed;
    EXPECT_NE(r->index_of(b->hash), ReplaySpace::kNowhere);
    EXPECT_NE(b->hash, a->hash);
    const auto c = search::crossed(*space, *a, *b, rng);
    if (!c) continue;
    ++crossed;
    EXPECT_NE(r->index_of(c->hash), ReplaySpace::kNowhere);
  }
  EXPECT_EQ(sampled.size(), 60u);
  EXPECT_FALSE(sampled.contains(ReplaySpace::kNowhere));
  EXPECT_GT(changed, 1000u);
  EXPECT_GT(crossed, 1000u);
  for (const space::Program& p : r->programs()) {
    const auto known = space->recognise(p.trace);
    ASSERT_TRUE(known.has_value());
    EXPECT_EQ(space->build(*known)->hash, p.hash);
  }
  schedule::Trace other = r->programs()[7].trace;
  other.pop_back();
  EXPECT_FALSE(space->recognise(other));
}

// A mutation leaves the way of its parent at one fork: it shares all steps up to there.
TEST(ReplaySpace, MutationsShareStepsWithTheirParents) {
  const auto r = recorded(60);
  const auto space = replay_space(r);
  const auto shared = [](const schedule::Trace& a, const schedule::Trace& b) {
    size_t n = 0;
    while (n < std::min(a.size(), b.size()) && a[n] == b[n]) ++n;
    return n;
  };
  Rng rng(2);
  double near = 0, far = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto a = space->sample(rng), other = space->sample(rng);
    const auto b = search::mutated(*space, *a, rng);
    if (!b) continue;
    near += static_cast<double>(shared(a->trace, b->trace));
    far += static_cast<double>(shared(a->trace, other->trace));
  }
  EXPECT_GT(near, far);
}

TEST(ReplaySpace, TheMeasurerGivesTheLastWord) {
  const task::Task t = product(8, 16, 5);
  std::vector<task::Measurement> all = records(t, 20);
  task::Measurement again = all[2];
  again.outcome = Outcome::kOk;
  again.median_s = 42;
  task::Measurement wrong = all[4];
  wrong.outcome = Outcome::kWrong;
  wrong.error = "element 3";
  all.push_back(again);
  all.push_back(wrong);
  all.push_back(all[4]);  // fast again, but once wrong is wrong
  task::Measurement elsewhere = all[0];
  elsewhere.trace = R"([["split",99,0,[16],false]])";
  all.push_back(elsewhere);
  elsewhere.trace = "garbage";
  all.push_back(elsewhere);
  const auto r = std::make_shared<const ReplaySpace>(t, all);
  EXPECT_EQ(r->programs().size(), 20u);
  EXPECT_EQ(r->left_out(), 2u);
  int seen = 0;
  const auto m = replay_measurer(r, [&](const task::Measurement&) { ++seen; });
  EXPECT_EQ(m->protocol(), all[0].protocol);
  EXPECT_EQ(m->target(*t.target), all[0].target);
  std::vector<schedule::Trace> traces;
  for (const auto& p : r->programs()) traces.push_back(p.trace);
  traces.push_back({});
  const auto got = measure::measure(*m, t, traces, 0);
  ASSERT_EQ(got.size(), 21u);
  EXPECT_EQ(seen, 21);
  EXPECT_EQ(got[2].median_s, 42);
  EXPECT_EQ(got[4].outcome, Outcome::kWrong);
  EXPECT_TRUE(m->verify(t, traces[4]).wrong());
  EXPECT_EQ(m->verify(t, traces[4]).why, "element 3");
  EXPECT_TRUE(m->verify(t, traces[2]).right());
  EXPECT_EQ(got[20].error, "not on record");
  for (size_t i = 5; i < 20; ++i) {
    EXPECT_EQ(got[i].outcome, all[i].outcome);
    EXPECT_EQ(got[i].median_s, all[i].median_s);
  }
  int asked = 0;  // once before the first job and once before each answer
  EXPECT_EQ(measure::measure(*m, t, traces, 0, [&] { return ++asked > 4; }).size(), 3u);
}

TEST(ReplaySpace, ReplayIsTheSameForASeed) {
  const auto r = recorded(80);
  for (const char* strategy : {"evolution", "random"}) {
    ReplayOptions o{.strategy = strategy, .cost_model = "xgb", .seed = 4, .trials = 40};
    o.threads = 1;
    const auto one = replay(r, o);
    EXPECT_EQ(one.size(), 40u) << strategy;
    EXPECT_TRUE(std::is_sorted(one.rbegin(), one.rend())) << strategy;
    EXPECT_GE(one.back(), r->best_s());
    o.threads = 3;
    EXPECT_EQ(replay(r, o), one) << strategy;
    o.seed = 5;
    EXPECT_NE(replay(r, o), one) << strategy;
  }
}

TEST(ReplaySpace, EnoughTrialsFindTheBest) {
  const auto r = recorded(30);
  for (const char* strategy : {"evolution", "random"}) {
    const auto curve =
        replay(r, {.strategy = strategy, .cost_model = "random", .seed = 2, .trials = 500});
    EXPECT_LE(curve.size(), 30u) << "nothing is tried twice";
    EXPECT_EQ(curve.back(), r->best_s()) << strategy;
  }
}

// By trials: the best time of all over the best so far, in the mean of the seeds from 1 on.
std::vector<double> mean_curve(const std::shared_ptr<const ReplaySpace>& r, const char* strategy,
                               const char* cost_model, uint64_t seeds) {
  constexpr size_t kTrials = 100;
  std::vector<double> mean(kTrials, 0);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto curve = replay(
        r, {.strategy = strategy, .cost_model = cost_model, .seed = seed, .trials = kTrials});
    for (size_t i = 0; i < kTrials; ++i) {
      mean[i] += r->best_s() / curve[i] / static_cast<double>(seeds);
    }
  }
  return mean;
}

void expect_evolution_sooner(uint64_t seeds) {
  const auto r = recorded(300);
  const auto evolution = mean_curve(r, "evolution", "xgb", seeds),
             random = mean_curve(r, "random", "random", seeds);
  EXPECT_GT(evolution[49], random[49]);
  EXPECT_GT(evolution[99], random[99]);
  EXPECT_GT(evolution[99], 0.95);
}

TEST(ReplaySpace, EvolutionFindsGoodProgramsSooner) { expect_evolution_sooner(2); }
TEST(ReplayStatistics, EvolutionFindsGoodProgramsSooner) { expect_evolution_sooner(5); }

}  // namespace
}  // namespace tenon::tune
