// SPDX-License-Identifier: Apache-2.0
// The agent of the plug-in tenon-torch learns, and keeps what it learned.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "search/pretend_layouts.h"
#include "support/check.h"

namespace tenon::search {
namespace {

class LayoutAgent : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_plug_in())
      GTEST_SKIP() << "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev "
                      "is not installed";
  }
  static std::string file(const std::string& name) {
    return testing::TempDir() + name + std::to_string(getpid());
  }
};

TEST_F(LayoutAgent, LearnsFromRewards) {
  const Layouts l = conv_layouts(32, 28);
  const size_t seeds = l.points().seeds().size();
  constexpr size_t kProposals = 200;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto learned = run("ppo", l, seed, kProposals);
    const auto random = run("random", l, seed, kProposals);
    ASSERT_EQ(learned.size(), kProposals);
    std::printf("seed %d: mean %.4g s after the seeds, at random %.4g s\n", static_cast<int>(seed),
                mean(learned, seeds), mean(random, seeds));
    EXPECT_LT(mean(learned, seeds), mean(random, seeds)) << seed;
  }
}

// What was learned on other shapes helps from the first proposals on; in the mean over seeds, since forty proposals are few.
TEST_F(LayoutAgent, IsReusedForOtherOperators) {
  const std::string kept = file("agent");
  double taught_s = 0, fresh_s = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    LearnerOptions options = built_options(seed);
    StrategyOptions shared;
    shared.learner = make_learner("ppo", options);
    for (const auto& [channels, size] : {std::pair(32, 28), std::pair(16, 56), std::pair(64, 14)}) {
      const Layouts other = conv_layouts(channels, size);
      shared.layouts = &other.points();
      run(*make_strategy("ppo", other.space(), nullptr, shared), other, seed, 120);
    }
    shared.learner->save(kept);
    options.learned = kept;
    const Layouts l = conv_layouts(64, 56);
    const size_t seeds = l.points().seeds().size();
    const auto taught = run(*make_layout_strategy("ppo", l, options), l, seed, 40);
    const auto fresh = run("ppo", l, seed, 40);
    std::printf("seed %d: mean %.4g s taught, %.4g s fresh\n", static_cast<int>(seed),
                mean(taught, seeds), mean(fresh, seeds));
    taught_s += mean(taught, seeds);
    fresh_s += mean(fresh, seeds);
  }
  EXPECT_LT(taught_s, 0.95 * fresh_s);
  std::filesystem::remove(kept);
}

TEST_F(LayoutAgent, RefusesOtherFiles) {
  LearnerOptions options = built_options(1);
  options.learned = file("other");
  EXPECT_THROW(make_learner("ppo", options), UserError);  // there is none
  const auto learner = make_learner("ppo", built_options(1));
  learner->save(options.learned);
  EXPECT_NO_THROW(make_learner("ppo", options));
  std::filesystem::resize_file(options.learned, std::filesystem::file_size(options.learned) - 1);
  EXPECT_THROW(make_learner("ppo", options), UserError);
  std::ofstream(options.learned) << "nonsense";
  EXPECT_THROW(make_learner("ppo", options), UserError);
  std::filesystem::remove(options.learned);
  EXPECT_THROW(learner->save("/nonexistent/agent"), UserError);
}

}  // namespace
}  // namespace tenon::search
