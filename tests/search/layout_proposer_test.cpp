// SPDX-License-Identifier: Apache-2.0
// Layout proposers on a pretend latency: what they propose, and that they propose the same again.
#include "search/layout_proposer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>

#include "search/pretend_layouts.h"
#include "task/task.h"

namespace tenon::search {
namespace {

using Point = LayoutSpace::Point;

// What every row promises; "ppo" where this build has its plug-in.
class ProposerTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("ppo") && !has_plug_in())
      GTEST_SKIP() << "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev "
                      "is not installed";
  }
};

TEST_P(ProposerTest, SeedsFirstNothingTwiceEverythingOnce) {
  const LayoutSpace s = small_space();
  // All layouts of the space, counted the slow way.
  std::set<std::string> all;
  for (const int64_t m : s.factors()[0].choices) {
    for (const int64_t n : s.factors()[1].choices) {
      for (const int64_t k : s.factors()[2].choices) {
        const auto edges = s.edges({m, n, k});
        if (edges) all.insert(task::edges_text(*edges));
      }
    }
  }
  ASSERT_EQ(s.factors().size(), 3u);
  const auto proposer = make_layout_proposer(GetParam(), s, built_options(1));
  Rng rng(1);
  std::vector<Point> proposed;
  std::set<std::string> seen;
  while (const auto p = proposer->propose(rng)) {
    const auto edges = s.edges(*p);
    ASSERT_TRUE(bool(edges)) << s.text(*p);
    ASSERT_TRUE(seen.insert(task::edges_text(*edges)).second) << s.text(*p);
    proposed.push_back(*p);
    // Rewards may come late, and fail.
    if (proposed.size() % 3 == 0) {
      for (size_t i = proposed.size() - 3; i < proposed.size(); ++i) {
        proposer->reward(proposed[i], i % 5 == 4 ? std::numeric_limits<double>::infinity()
                                                 : pretend_s(s, proposed[i]));
      }
    }
  }
  EXPECT_EQ(seen, all);
  ASSERT_GE(proposed.size(), s.seeds().size());
  for (size_t i = 0; i < s.seeds().size(); ++i) EXPECT_EQ(proposed[i], s.seeds()[i]);
  EXPECT_FALSE(proposer->propose(rng));
}

TEST_P(ProposerTest, SameSeedSameProposals) {
  const LayoutSpace s = conv_space(32, 28);
  const auto one = run(GetParam(), s, 7, 60);
  EXPECT_EQ(one, run(GetParam(), s, 7, 60));
  EXPECT_NE(one, run(GetParam(), s, 8, 60));
}

// Points that were known before are not proposed.
TEST_P(ProposerTest, SkipsWhatWasRewarded) {
  const LayoutSpace s = small_space();
  const auto proposer = make_layout_proposer(GetParam(), s, built_options(1));
  proposer->reward(s.seeds()[0], 1e-3);
  Rng rng(1);
  EXPECT_EQ(proposer->propose(rng), s.seeds()[1]);
}

INSTANTIATE_TEST_SUITE_P(Rows, ProposerTest, testing::Values("evolution", "random", "ppo"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LayoutProposer, EvolutionBeatsRandom) {
  for (const LayoutSpace& s : {conv_space(32, 28), conv_space(64, 56)}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto evolved = run("evolution", s, seed, 60);
      const auto random = run("random", s, seed, 60);
      EXPECT_LT(mean(evolved, s.seeds().size()), mean(random, s.seeds().size())) << seed;
      std::printf("seed %d: best %.3g s by evolution, %.3g s at random\n", static_cast<int>(seed),
                  *std::min_element(evolved.begin(), evolved.end()),
                  *std::min_element(random.begin(), random.end()));
    }
  }
}

TEST(LayoutProposer, UnknownOnesAreUserErrors) {
  const LayoutSpace s = small_space();
  EXPECT_THROW(make_layout_proposer("tabu", s), UserError);
  LayoutProposerOptions nowhere;
  nowhere.plug_in = "/nonexistent/libtenon-torch.so";
  try {
    make_layout_proposer("ppo", s, nowhere);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("tenon-torch"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("libtorch-dev"), std::string::npos) << e.what();
  }
  EXPECT_EQ(make_layout_learner("evolution", {}), nullptr);
  EXPECT_THROW(make_layout_learner("tabu", {}), UserError);
}

}  // namespace
}  // namespace tenon::search
