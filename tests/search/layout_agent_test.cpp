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
  const LayoutSpace s = conv_space(32, 28);
  constexpr size_t kProposals = 200;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto learned = run("ppo", s, seed, kProposals);
    const auto random = run("random", s, seed, kProposals);
    ASSERT_EQ(learned.size(), kProposals);
    std::printf("seed %d: mean %.4g s after the seeds, at random %.4g s\n", static_cast<int>(seed),
                mean(learned, s.seeds().size()), mean(random, s.seeds().size()));
    EXPECT_LT(mean(learned, s.seeds().size()), mean(random, s.seeds().size())) << seed;
  }
}

// What was learned on other shapes helps from the first proposals on; in the mean over seeds, since forty proposals are few.
TEST_F(LayoutAgent, IsReusedForOtherOperators) {
  const std::string kept = file("agent");
  double taught_s = 0, fresh_s = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    LayoutProposerOptions options = built_options(seed);
    options.learner = make_layout_learner("ppo", options);
    for (const LayoutSpace& s : {conv_space(32, 28), conv_space(16, 56), conv_space(64, 14)}) {
      run(*make_layout_proposer("ppo", s, options), s, seed, 120);
    }
    options.learner->save(kept);
    options.learner = nullptr;
    options.learned = kept;
    const LayoutSpace s = conv_space(64, 56);
    const auto taught = run(*make_layout_proposer("ppo", s, options), s, seed, 40);
    const auto fresh = run("ppo", s, seed, 40);
    std::printf("seed %d: mean %.4g s taught, %.4g s fresh\n", static_cast<int>(seed),
                mean(taught, s.seeds().size()), mean(fresh, s.seeds().size()));
    taught_s += mean(taught, s.seeds().size());
    fresh_s += mean(fresh, s.seeds().size());
  }
  EXPECT_LT(taught_s, 0.95 * fresh_s);
  std::filesystem::remove(kept);
}

TEST_F(LayoutAgent, RefusesOtherFiles) {
  const LayoutSpace s = small_space();
  LayoutProposerOptions options = built_options(1);
  options.learned = file("other");
  EXPECT_THROW(make_layout_proposer("ppo", s, options), UserError);  // there is none
  const auto learner = make_layout_learner("ppo", built_options(1));
  learner->save(options.learned);
  EXPECT_NO_THROW(make_layout_proposer("ppo", s, options));
  std::filesystem::resize_file(options.learned, std::filesystem::file_size(options.learned) - 1);
  EXPECT_THROW(make_layout_proposer("ppo", s, options), UserError);
  std::ofstream(options.learned) << "nonsense";
  EXPECT_THROW(make_layout_proposer("ppo", s, options), UserError);
  std::filesystem::remove(options.learned);
  EXPECT_THROW(learner->save("/nonexistent/agent"), UserError);
}

}  // namespace
}  // namespace tenon::search
