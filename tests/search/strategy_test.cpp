// SPDX-License-Identifier: Apache-2.0
// Strategies on the pretend device: what they find, and that they find the same again.
#include "search/strategy/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "measure/measure.h"
#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "search/tasks.h"
#include "support/sanitized.h"

namespace tenon::search {
namespace {

constexpr size_t kRounds = 6;
constexpr size_t kTrials = 16;  // per round

struct Found {
  double best_s = std::numeric_limits<double>::infinity();
  std::vector<std::string> traces;  // in the order in which they were tried
};

struct Effort {
  size_t population = 256;
  size_t trials = kTrials;  // per round
};

Found search(const task::Task& t, const std::string& strategy_name, uint64_t seed, int threads,
             const std::string& space_name = "sketch", const Effort& effort = {}) {
  const auto space = make_space(space_name, t);
  const auto model = cost::make_model("xgb", seed, threads);
  StrategyOptions options;
  options.population = effort.population;
  options.threads = threads;
  const auto strategy = make_strategy(strategy_name, *space, model.get(), options);
  measure::SimOptions sim;
  sim.noise = 0;
  const auto device = measure::sim_measurer(sim);
  Rng rng(seed);
  Found found;
  for (size_t r = 0; r < kRounds; ++r) {
    const std::vector<space::Program> batch = strategy->propose(effort.trials, rng);
    std::vector<schedule::Trace> traces;
    for (const space::Program& c : batch) traces.push_back(c.trace);
    const auto measured = measure::measure(*device, t, traces, 0, [] { return false; });
    std::vector<Tried> tried;
    std::vector<cost::Sample> samples;
    for (size_t i = 0; i < measured.size(); ++i) {
      const bool ok = measured[i].outcome == task::Outcome::kOk;
      const double s = ok ? measured[i].median_s : std::numeric_limits<double>::infinity();
      found.best_s = std::min(found.best_s, s);
      found.traces.push_back(measured[i].trace);
      tried.push_back({batch[i], s});
      auto row = model->encode(subject_of(t, batch[i]));
      if (row) samples.push_back({std::move(row.value()), t.key, s});
    }
    strategy->tell(tried);
    model->learn(samples, cost::Role::kThisRun);
  }
  return found;
}

task::Task matmul() {
  return make_task([](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {256, 256});
    const auto w = b.constant("W", ir::kF32, {256, 256});
    b.output(te::relu(b, "R", te::matmul(b, "C", a, w)));
  });
}

task::Task convolution() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 64, 28, 28});
    const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
    b.output(te::relu(b, "R", te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1})));
  });
}

task::Task dense() {
  return make_task([](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {128, 768});
    const auto w = b.constant("W", ir::kF32, {768, 768});
    b.output(te::relu(b, "R", te::matmul(b, "C", a, w)));
  });
}

task::Task strided() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 96, 28, 28});
    const auto w = b.constant("W", ir::kF32, {144, 96, 3, 3});
    b.output(te::relu(b, "R", te::conv(b, "S", x, w, {{2, 2}, {1, 1}, {1, 1}, {}, 1})));
  });
}

task::Task pointwise() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 256, 14, 14});
    const auto w = b.constant("W", ir::kF32, {512, 256, 1, 1});
    b.output(te::relu(b, "R", te::conv(b, "P", x, w, {{1, 1}, {0, 0}, {0, 0}, {}, 1})));
  });
}

// As many trials for both. Small tasks say nothing: there random draws find the best as well.
TEST(Strategy, EvolutionBeatsRandomSearch) {
  if (kSanitized)
    GTEST_SKIP() << "minutes under the address sanitizer; the tests below run the same code";
  constexpr uint64_t kFirst = 11, kLast = 13;
  const Effort effort{512, 32};
  int wins = 0, runs = 0;
  double gain = 0;
  for (const task::Task& t : {dense(), convolution(), strided(), pointwise()}) {
    for (uint64_t seed = kFirst; seed <= kLast; ++seed, ++runs) {
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

TEST(Strategy, SameSeedSameTrialsOnAnyNumberOfThreads) {
  const task::Task t = matmul();
  for (const char* name : {"evolution", "random"}) {
    const Found one = search(t, name, 5, 1);
    EXPECT_EQ(one.traces.size(), kRounds * kTrials) << name;
    EXPECT_EQ(one.traces, search(t, name, 5, 2).traces) << name;
  }
}

// The template's space remembers what it saw; that must not show.
TEST(Strategy, SameSeedSameTrialsInEverySpace) {
  const task::Task t = convolution();
  for (const SpaceRow& r : spaces()) {
    const std::string space(r.name);
    const Found one = search(t, "evolution", 5, 1, space);
    EXPECT_FALSE(one.traces.empty()) << space;
    EXPECT_EQ(one.traces, search(t, "evolution", 5, 3, space).traces) << space;
  }
}

}  // namespace
}  // namespace tenon::search
