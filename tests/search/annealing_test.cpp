// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/annealing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "cost/draft.h"
#include "measure/measure.h"
#include "search/sim_search.h"
#include "search/space/spaces.h"
#include "search/strategy/drafts.h"
#include "search/strategy/scoring.h"
#include "search/tasks.h"
#include "support/sanitized.h"

namespace tenon::search {
namespace {

TEST(Annealing, TemperatureFallsInEqualSteps) {
  EXPECT_EQ(temperature(0, 4), 1);
  EXPECT_DOUBLE_EQ(temperature(1, 4), 0.8);
  EXPECT_DOUBLE_EQ(temperature(4, 4), 0.2);
}

TEST(Annealing, AcceptanceByWorkedValues) {
  EXPECT_EQ(acceptance(0, 0.5), 1);
  EXPECT_NEAR(acceptance(-1, 1), std::exp(-1 / 1.00001), 1e-12);
  EXPECT_NEAR(acceptance(-0.5, 0.25), std::exp(-0.5 / 0.25001), 1e-12);
  EXPECT_NEAR(acceptance(-1, 0), 0, 1e-12) << "cold: never";
  EXPECT_NEAR(acceptance(-1e-5, 0), std::exp(-1), 1e-12) << "but for steps that hardly matter";
  EXPECT_EQ(acceptance(1e30, 0), std::exp(1)) << "no overflow";
}

TEST(Annealing, SpreadIsTheStandardDeviation) {
  Spread s;
  EXPECT_EQ(s.deviation(), 1);
  for (const double x : {2, 2, 2}) s.add(x);
  EXPECT_EQ(s.deviation(), 1) << "all equal";
  for (const double x : {4, 4, 4}) s.add(x);
  EXPECT_DOUBLE_EQ(s.deviation(), 1);
  for (const double x : {12, 12, 12, 12, 12, 12}) s.add(x);
  EXPECT_NEAR(s.deviation(), std::sqrt(20.75), 1e-12) << "around 7.5";
}

// Likes a large first factor, and nothing else; counts what it is asked.
class LikesOneHole : public cost::CostModel {
 public:
  explicit LikesOneHole(bool trained) : trained_(trained) {}
  std::string_view name() const override { return "one hole"; }
  Result<cost::Row> encode(const cost::Subject& s) const override {
    return cost::Row{{worth(*s.choices)}, 1, {}};
  }
  static float worth(const space::Choices& choices) {
    float sum = 0;
    for (const space::Choice& c : choices) {
      if (c.hole.kind == space::HoleKind::kFactor) sum += static_cast<float>(c.value);
    }
    return sum;
  }
  void learn(std::span<const cost::Sample>, cost::Role) override {}
  std::vector<float> score(std::span<const cost::Row> rows) const override {
    asked_ += rows.size();
    std::vector<float> out;
    for (const cost::Row& r : rows) out.push_back(r.values[0]);
    return out;
  }
  bool trained() const override { return trained_; }
  std::string save() const override { return ""; }
  void load(const std::string&) override {}
  size_t asked() const { return asked_; }

 private:
  bool trained_;
  mutable std::atomic<size_t> asked_{0};
};

float mean_worth(const std::vector<space::Program>& programs) {
  float sum = 0;
  for (const space::Program& p : programs) sum += LikesOneHole::worth(p.choices);
  return sum / static_cast<float>(programs.size());
}

TEST(Annealing, ClimbsWhereTheModelLeadsAndGoesOnFromThere) {
  const task::Task t = matmul();
  const auto space = make_space("sketch", t);
  const LikesOneHole model(true);
  StrategyOptions options;
  options.population = 256;
  const auto annealing = make_strategy("annealing", *space, &model, options);
  Rng rng(3), other(3);
  const auto first = annealing->propose(16, rng);
  EXPECT_EQ(first.size(), 16U);
  // 128 chains at first, and 10 steps of them.
  EXPECT_EQ(model.asked(), 256U * 5 + 128);
  const float drawn = mean_worth(sample_many(*space, 64, other, 1));
  EXPECT_GT(mean_worth(first), 2 * drawn);
  const auto second = annealing->propose(16, rng);
  EXPECT_GT(mean_worth(second), mean_worth(first)) << "chains are kept";
  std::set<uint64_t> seen;
  for (const auto* batch : {&first, &second}) {
    for (const space::Program& p : *batch) EXPECT_TRUE(seen.insert(p.hash).second);
  }
}

TEST(Annealing, DrawsWhileTheModelKnowsNothing) {
  const task::Task t = matmul();
  const auto space = make_space("sketch", t);
  const LikesOneHole model(false);
  const auto annealing = make_strategy("annealing", *space, &model, {});
  Rng rng(3);
  EXPECT_EQ(annealing->propose(200, rng).size(), 200U) << "more than there are chains";
  EXPECT_EQ(model.asked(), 0U);
}

TEST(Annealing, WithoutAModelGoesByTimes) {
  const task::Task t = matmul();
  const auto space = make_space("sketch", t);
  const auto annealing = make_strategy("annealing", *space, nullptr, {});
  Rng rng(3);
  EXPECT_EQ(annealing->propose(16, rng).size(), 16U);
}

TEST(Annealing, BeatsRandomSearch) {
  if (kSanitized) GTEST_SKIP() << "too long there; the tests above run the same code";
  double gain = 0;
  int runs = 0;
  for (const task::Task& t : {dense(), convolution()}) {
    for (const uint64_t seed : {11U, 12U}) {
      const Effort effort{.population = 256, .trials = 24};
      const double annealed = search(t, "annealing", seed, 2, "sketch", effort).best_s;
      const double random = search(t, "random", seed, 2, "sketch", effort).best_s;
      std::printf("%s seed %llu: annealing %.3g s, random %.3g s\n", t.label.c_str(),
                  static_cast<unsigned long long>(seed), annealed, random);
      gain += std::log(random / annealed);
      ++runs;
    }
  }
  EXPECT_GT(std::exp(gain / runs), 1) << "geometric mean of the gains";
}

TEST(Drafts, EveryTenthIsDrawnWithoutTheDraft) {
  const task::Task t = matmul();
  const auto space = make_space("sketch", t);
  size_t same = 0;
  for (size_t i = 0; i < 40; ++i) {
    Rng a(i), b(i);
    const auto drafted = sample_drafted(*space, i, a);
    const auto first = sample_valid(*space, b);
    ASSERT_TRUE(drafted && first);
    if (i % kUnjudged == 0) EXPECT_EQ(drafted->hash, first->hash) << i;
    same += drafted->hash == first->hash;
  }
  EXPECT_LT(same, 24U) << "the draft hardly ever chose";
}

// The pretend device counts in its own way; what both know is how programs are made fast.
TEST(Drafts, RankMuchAsThePretendDeviceDoes) {
  measure::SimOptions sim;
  sim.noise = 0;
  const auto device = measure::sim_measurer(sim);
  for (const task::Task& t : {matmul(), convolution()}) {
    const auto space = make_space("sketch", t);
    Rng rng(1);
    std::vector<std::pair<double, double>> both;
    for (const space::Program& p : sample_many(*space, 80, rng, 2)) {
      const auto m = measure::measure(*device, t, {{p.trace}}, 0);
      if (m.empty() || m[0].outcome != task::Outcome::kOk) continue;
      ASSERT_NE(p.bounds, nullptr);
      both.emplace_back(cost::draft_seconds(p.state, *p.bounds), m[0].median_s);
    }
    double pairs = 0, agree = 0;
    for (size_t i = 0; i < both.size(); ++i) {
      for (size_t j = 0; j < i; ++j, ++pairs) {
        agree += (both[i].first < both[j].first) == (both[i].second < both[j].second) ? 1 : 0;
      }
    }
    EXPECT_GT(agree / pairs, 0.7) << t.label;
  }
}

}  // namespace
}  // namespace tenon::search
