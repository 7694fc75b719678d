// SPDX-License-Identifier: Apache-2.0
// What docs/adding/strategy.md says: a file and a row are enough.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "measure/measure.h"
#include "search/space/spaces.h"
#include "search/strategy/strategy.h"
#include "search/tasks.h"

namespace tenon::search {

std::unique_ptr<Strategy> make_walk(const space::Space& space, const cost::CostModel* model,
                                    const StrategyOptions& options);

namespace {

constexpr StrategyRow kRows[] = {
    {"walk", "one choice at a time from the best so far", make_walk},
};

TEST(ToyStrategy, WalksThroughEverySpace) {
  measure::SimOptions sim;
  sim.noise = 0;
  const auto device = measure::sim_measurer(sim);
  for (const NamedTask& t : small_tasks()) {
    const auto space = make_space("joint", t.task);
    const auto walk = make_strategy("walk", *space, nullptr, {}, kRows);
    Rng rng(3);
    std::set<uint64_t> seen;
    double first = 0, best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 4; ++round) {
      std::vector<Tried> tried;
      for (space::Program& p : walk->propose(8, rng)) {
        ASSERT_TRUE(seen.insert(p.hash).second) << t.name;
        const auto m = measure::measure(*device, t.task, {{p.trace}}, 0);
        const bool ok = !m.empty() && m[0].outcome == task::Outcome::kOk;
        tried.push_back(
            {std::move(p), ok ? m[0].median_s : std::numeric_limits<double>::infinity()});
        if (first == 0) first = tried.back().seconds;
        best = std::min(best, tried.back().seconds);
      }
      walk->tell(tried);
    }
    EXPECT_FALSE(seen.empty()) << t.name;
    EXPECT_LE(best, first) << t.name;
  }
  const auto space = make_space("joint", small_tasks()[0].task);
  EXPECT_THROW(make_strategy("walk", *space, nullptr, {}), UserError) << "not in tenon's own table";
}

}  // namespace
}  // namespace tenon::search
