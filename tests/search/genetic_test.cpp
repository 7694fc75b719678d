// SPDX-License-Identifier: Apache-2.0
// The two baselines of AutoTVM that need no cost model.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "search/sim_search.h"
#include "search/space/spaces.h"
#include "search/strategy/strategy.h"
#include "search/tasks.h"

namespace tenon::search {
namespace {

task::Task small() {
  return make_task([](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {2, 6});
    b.output(te::relu(b, "R", x));
  });
}

// All choices of two programs up to the first that differs tell which is first.
bool in_order(const space::Choices& a, const space::Choices& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].hole != b[i].hole) return true;  // what went before made other holes
    if (a[i].value != b[i].value) return a[i].value < b[i].value;
  }
  return true;
}

TEST(Grid, GoesThroughASmallSpaceInOrder) {
  const task::Task t = small();
  const auto space = make_space("sketch", t);
  const auto grid = make_strategy("grid", *space, nullptr, {});
  Rng rng(1);
  std::vector<space::Program> all;
  for (;;) {
    auto batch = grid->propose(7, rng);
    if (batch.empty()) break;
    std::move(batch.begin(), batch.end(), std::back_inserter(all));
    ASSERT_LT(all.size(), 100000U);
  }
  std::set<uint64_t> hashes;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(hashes.insert(all[i].hash).second);
    if (i > 0) EXPECT_TRUE(in_order(all[i - 1].choices, all[i].choices)) << i;
  }
  for (int i = 0; i < 200; ++i) {
    const auto p = space->sample(rng);
    if (p) EXPECT_TRUE(hashes.contains(p->hash)) << "grid left one out";
  }
}

// Rewards one value of one hole, whatever the rest is.
TEST(Genetic, ThroughputDecidesWhoHasChildren) {
  const task::Task t = matmul();
  const auto space = make_space("sketch", t);
  const auto genetic = make_strategy("genetic", *space, nullptr, {});
  Rng rng(5);
  const auto fast = [](const space::Program& p) {
    return std::any_of(p.choices.begin(), p.choices.end(), [](const space::Choice& c) {
      return c.hole.kind == space::HoleKind::kUnroll && c.value == 16;
    });
  };
  std::vector<double> shares;
  for (int generation = 0; generation < 3; ++generation) {
    std::vector<Tried> tried;
    double share = 0;
    for (space::Program& p : genetic->propose(100, rng)) {
      const bool good = fast(p);
      share += good ? 0.01 : 0;
      tried.push_back({std::move(p), good ? 1e-3 : 1e-1});
    }
    ASSERT_EQ(tried.size(), 100U);
    genetic->tell(tried);
    shares.push_back(share);
  }
  // Parents that have the value are a hundred times as likely; what their children have of it may change, and other
  // structures have no such hole.
  EXPECT_LT(shares[0], 0.25);
  EXPECT_GT(shares[1], 2 * shares[0]);
  EXPECT_GT(shares[2], 2 * shares[0]);
}

}  // namespace
}  // namespace tenon::search
