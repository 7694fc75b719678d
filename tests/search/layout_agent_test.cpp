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

// What was learned on other shapes helps from the first proposal on.
TEST_F(LayoutAgent, IsReusedForOtherOperators) {
  const std::string kept = file("agent");
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    LayoutProposerOptions options = built_options(seed);
    for (const LayoutSpace& s : {conv_space(32, 28), conv_space(16, 56), conv_space(64, 14)}) {
      const auto proposer = make_layout_proposer("ppo", s, options);
      run(*proposer, s, seed, 120);
      ASSERT_TRUE(proposer->save(kept));
      options.agent = kept;
    }
    const LayoutSpace s = conv_space(64, 56);
    const auto taught = run(*make_layout_proposer("ppo", s, options), s, seed, 40);
    const auto fresh = run("ppo", s, seed, 40);
    std::printf("seed %d: mean %.4g s taught, %.4g s fresh\n", static_cast<int>(seed),
                mean(taught, s.seeds().size()), mean(fresh, s.seeds().size()));
    EXPECT_LT(mean(taught, s.seeds().size()), mean(fresh, s.seeds().size())) << seed;
  }
  std::filesystem::remove(kept);
}

TEST_F(LayoutAgent, RefusesOtherFiles) {
  const LayoutSpace s = small_space();
  LayoutProposerOptions options = built_options(1);
  options.agent = file("other");
  EXPECT_THROW(make_layout_proposer("ppo", s, options), UserError);  // there is none
  const auto proposer = make_layout_proposer("ppo", s, built_options(1));
  ASSERT_TRUE(proposer->save(options.agent));
  EXPECT_NO_THROW(make_layout_proposer("ppo", s, options));
  std::filesystem::resize_file(options.agent, std::filesystem::file_size(options.agent) - 1);
  EXPECT_THROW(make_layout_proposer("ppo", s, options), UserError);
  std::ofstream(options.agent) << "nonsense";
  EXPECT_THROW(make_layout_proposer("ppo", s, options), UserError);
  std::filesystem::remove(options.agent);
  EXPECT_THROW(proposer->save("/nonexistent/agent"), UserError);
}

}  // namespace
}  // namespace tenon::search
