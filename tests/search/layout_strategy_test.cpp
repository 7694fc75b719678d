// SPDX-License-Identifier: Apache-2.0
// Strategies over layouts on a pretend latency: what they propose, and that they propose the same again.
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
class LayoutStrategyTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("ppo") && !has_plug_in())
      GTEST_SKIP() << "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev "
                      "is not installed";
  }
};

TEST_P(LayoutStrategyTest, SeedsFirstNothingTwiceEverythingOnce) {
  const Layouts l = small_layouts();
  const LayoutSpace& s = l.points();
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
  const auto strategy = make_layout_strategy(GetParam(), l, built_options(1));
  Rng rng(1);
  std::vector<Tried> proposed;
  std::set<std::string> seen;
  for (auto p = strategy->propose(1, rng); !p.empty(); p = strategy->propose(1, rng)) {
    const Point point = l.point(p[0]);
    const auto edges = s.edges(point);
    ASSERT_TRUE(bool(edges)) << s.text(point);
    ASSERT_TRUE(seen.insert(task::edges_text(*edges)).second) << s.text(point);
    const bool fails = proposed.size() % 5 == 4;
    proposed.push_back(
        {std::move(p[0]), fails ? std::numeric_limits<double>::infinity() : pretend_s(s, point)});
    // Results may come late, and fail.
    if (proposed.size() % 3 == 0) strategy->tell(std::span(proposed).last(3));
  }
  EXPECT_EQ(seen, all);
  ASSERT_GE(proposed.size(), s.seeds().size());
  for (size_t i = 0; i < s.seeds().size(); ++i) {
    EXPECT_EQ(l.point(proposed[i].program), s.seeds()[i]);
  }
  EXPECT_TRUE(strategy->propose(1, rng).empty());
}

TEST_P(LayoutStrategyTest, SameSeedSameProposals) {
  const Layouts l = conv_layouts(32, 28);
  const auto one = run(GetParam(), l, 7, 60);
  EXPECT_EQ(one, run(GetParam(), l, 7, 60));
  EXPECT_NE(one, run(GetParam(), l, 8, 60));
}

// What was known before is not proposed.
TEST_P(LayoutStrategyTest, SkipsWhatWasTold) {
  const Layouts l = small_layouts();
  const auto strategy = make_layout_strategy(GetParam(), l, built_options(1));
  const Tried first{l.program(l.points().seeds()[0]), 1e-3};
  strategy->tell({&first, 1});
  Rng rng(1);
  EXPECT_EQ(l.point(strategy->propose(1, rng).at(0)), l.points().seeds()[1]);
}

INSTANTIATE_TEST_SUITE_P(Rows, LayoutStrategyTest, testing::Values("evolution", "random", "ppo"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LayoutStrategy, EvolutionBeatsRandom) {
  for (const auto& [channels, size] : {std::pair(32, 28), std::pair(64, 56)}) {
    const Layouts l = conv_layouts(channels, size);
    const size_t seeds = l.points().seeds().size();
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto evolved = run("evolution", l, seed, 60);
      const auto random = run("random", l, seed, 60);
      EXPECT_LT(mean(evolved, seeds), mean(random, seeds)) << seed;
      std::printf("seed %d: best %.3g s by evolution, %.3g s at random\n", static_cast<int>(seed),
                  *std::min_element(evolved.begin(), evolved.end()),
                  *std::min_element(random.begin(), random.end()));
    }
  }
}

TEST(LayoutStrategy, UnknownOnesAreUserErrors) {
  const Layouts l = small_layouts();
  EXPECT_THROW(make_layout_strategy("tabu", l, {}), UserError);
  try {
    make_layout_strategy("ppo", l,
                         {.seed = 1, .learned = "", .plug_in = "/nonexistent/libtenon-torch.so"});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("tenon-torch"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("libtorch-dev"), std::string::npos) << e.what();
  }
  EXPECT_EQ(make_learner("evolution", {}), nullptr);
  EXPECT_THROW(make_learner("tabu", {}), UserError);
  EXPECT_THROW(make_strategy("ppo", l.space(), nullptr, {}), UserError) << "it is for layouts only";
}

}  // namespace
}  // namespace tenon::search
