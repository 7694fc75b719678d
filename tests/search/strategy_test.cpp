// SPDX-License-Identifier: Apache-2.0
// Strategies on the pretend device: what they find, and that they find the same again.
#include "search/strategy/strategy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "search/sim_search.h"
#include "search/space/spaces.h"
#include "support/sanitized.h"

namespace tenon::search {
namespace {

// As many trials for both. Small tasks say nothing: there random draws find the best as well.
void expect_evolution_ahead(uint64_t first_seed, uint64_t last_seed) {
  const Effort effort{.population = 512, .trials = 32};
  int wins = 0, runs = 0;
  double gain = 0;
  for (const task::Task& t : {dense(), convolution(), strided(), pointwise()}) {
    for (uint64_t seed = first_seed; seed <= last_seed; ++seed, ++runs) {
      const double evolved = search(t, "evolution", seed, 2, "sketch", effort).best_s;
      const double random = search(t, "random", seed, 2, "sketch", effort).best_s;
      wins += evolved < random;
      gain += std::log(random / evolved);
      std::printf("%s seed %llu: evolution %.3g s, random %.3g s\n", t.label.c_str(),
                  static_cast<unsigned long long>(seed), evolved, random);
    }
  }
  EXPECT_GE(wins, 2 * runs / 3) << "of " << runs;
  EXPECT_GT(std::exp(gain / runs), 1) << "geometric mean of the gains";
}

constexpr const char* kMinutes = "minutes under sanitizers; the other tests run the same code";

TEST(Strategy, EvolutionBeatsRandomSearch) {
  if (kSanitized) GTEST_SKIP() << kMinutes;
  expect_evolution_ahead(11, 11);
}

TEST(StrategyStatistics, EvolutionBeatsRandomSearch) {
  if (kSanitized) GTEST_SKIP() << kMinutes;
  expect_evolution_ahead(12, 16);
}

TEST(Strategy, SameSeedSameTrialsOnAnyNumberOfThreads) {
  const task::Task t = matmul();
  for (const std::string& name : loop_strategies()) {
    const Found one = search(t, name, 5, 1);
    EXPECT_EQ(one.traces.size(), Effort{}.rounds * Effort{}.trials) << name;
    EXPECT_EQ(std::set<std::string>(one.traces.begin(), one.traces.end()).size(), one.traces.size())
        << name << " tries nothing twice";
    EXPECT_EQ(one.traces, search(t, name, 5, 3).traces) << name;
  }
}

// What is known from elsewhere comes right after the space's own seeds, once.
TEST(Strategy, BeginsWithWhatItIsGiven) {
  const task::Task t = matmul();
  const auto space = make_space("joint", t);
  Rng draws(3);
  std::vector<space::Program> given;
  while (given.size() < 4) {
    auto p = space->sample(draws);
    if (p) given.push_back(std::move(p.value()));
  }
  std::vector<uint64_t> expected;
  for (const space::Program& p : space->first()) expected.push_back(p.hash);
  for (const space::Program& p : given) expected.push_back(p.hash);
  const auto model = cost::make_model("xgb", 1, 1);
  for (const cost::CostModel* m : {static_cast<const cost::CostModel*>(nullptr),
                                   static_cast<const cost::CostModel*>(model.get())}) {
    for (const std::string& name : loop_strategies()) {
      if (name == "grid") continue;  // it goes in the order of the choices
      StrategyOptions options;
      options.population = 64;
      const auto strategy = make_strategy(name, *space, m, options);
      strategy->begin_with(given);
      Rng rng(1);
      std::vector<uint64_t> hashes;
      for (const space::Program& p : strategy->propose(24, rng)) hashes.push_back(p.hash);
      ASSERT_GE(hashes.size(), expected.size()) << name;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), hashes.begin())) << name;
      std::sort(hashes.begin(), hashes.end());
      EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end()) << name;
    }
  }
}

TEST(Strategy, SameSeedSameTrialsInEverySpace) {
  const task::Task t = convolution();
  const Effort effort{.population = 128, .rounds = 4};
  for (const SpaceRow& r : spaces()) {
    const std::string space(r.name);
    const Found one = search(t, "evolution", 5, 1, space, effort);
    EXPECT_FALSE(one.traces.empty()) << space;
    EXPECT_EQ(one.traces, search(t, "evolution", 5, 3, space, effort).traces) << space;
  }
}

}  // namespace
}  // namespace tenon::search
