// SPDX-License-Identifier: Apache-2.0
// The same programs on several machines, and models on the same records.
#include "history/machines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "history/contest.h"
#include "history/recorded.h"
#include "support/check.h"

namespace tenon::history {
namespace {

// What was measured here, also there: another time, in another order, and not all of it.
void copy_to(Recorded& r, const std::string& machine, double factor) {
  auto all = r.db->measurements({});
  std::vector<task::Measurement> copies;
  for (size_t i = all.size(); i-- > 0;) {
    if (i % 4 == 0) continue;
    task::Measurement m = all[i];
    m.target = machine;
    m.best_s = m.median_s = m.low_s = m.high_s = factor * m.median_s;
    m.seconds = {m.median_s};
    copies.push_back(std::move(m));
  }
  r.db->record(copies);
}

Where there() {
  Where w = where(product(16));
  w.measured = "there";
  return w;
}

TEST(Machines, AreJoinedByTaskAndTrace) {
  Recorded r;
  for (const int64_t n : {16, 32}) r.add(product(n), 20);
  copy_to(r, "there", 3);
  const std::vector<Where> both = {where(product(16)), there()};
  const Joined j = join_machines(*r.db, both);
  ASSERT_EQ(j.tasks.size(), 2U);
  int joined = 0, unknown = 0;
  for (const JoinedProgram& p : j.programs) {
    ASSERT_EQ(p.seconds.size(), 2U);
    ASSERT_FALSE(std::isnan(p.seconds[0]));
    if (std::isnan(p.seconds[1])) {
      ++unknown;
    } else {
      ++joined;
      EXPECT_DOUBLE_EQ(p.seconds[1], 3 * p.seconds[0]);
    }
  }
  EXPECT_GT(joined, 20);
  EXPECT_GT(unknown, 4);
}

TEST(Machines, AShareOfTimesIsDrawnByWhatTheyAreOf) {
  Recorded r;
  for (const int64_t n : {16, 32, 48}) r.add(product(n), 60);
  const std::vector<Where> one = {where(product(16))};
  Joined j = join_machines(*r.db, one), again = join_machines(*r.db, one);
  const auto known = [](const Joined& all) {
    int n = 0;
    for (const JoinedProgram& p : all.programs) n += std::isnan(p.seconds[0]) ? 0 : 1;
    return n;
  };
  const int whole = known(j);
  keep_share(j, 0, 0.25, 1);
  keep_share(again, 0, 0.25, 1);
  EXPECT_GT(known(j), whole / 8);
  EXPECT_LT(known(j), whole / 2);
  for (size_t i = 0; i < j.programs.size(); ++i) {
    EXPECT_EQ(std::isnan(j.programs[i].seconds[0]), std::isnan(again.programs[i].seconds[0]));
  }
}

TEST(Contest, ModelsAreScoredOnTasksThatTheyDidNotLearnFrom) {
  Recorded r;
  for (int64_t i = 1; i <= 6; ++i) r.add(product(16 * i), 40);
  const auto tasks = read_records(*r.db, where(product(16))).tasks;
  const Split split = hold_out(tasks);
  ASSERT_FALSE(split.held.empty());
  const Contestant c = compete("xgb", tasks, split, {.seed = 1, .threads = 2});
  EXPECT_TRUE(c.trained);
  EXPECT_EQ(c.learned + c.asked, 240);
  EXPECT_EQ(c.asked, 40 * c.held_out);
  EXPECT_GT(c.pairwise, 0.6);
  EXPECT_GE(c.mean.top5, c.mean.top1);
  EXPECT_GE(c.pooled.top5, c.pooled.top1);
  const Contestant blind = compete("random", tasks, split, {.seed = 1, .threads = 2});
  EXPECT_FALSE(blind.trained);
  EXPECT_NEAR(blind.pairwise, 0.5, 0.15);
}

// Two networks share a task: it counts for both, as often as they have it.
TEST(Contest, NetworksAreHeldOutWholeAndWeighed) {
  Recorded r;
  for (int64_t i = 1; i <= 4; ++i) r.add(product(16 * i), 40);
  const auto tasks = read_records(*r.db, where(product(16))).tasks;
  const std::string a = task::key_of(*product(16).dag), b = task::key_of(*product(32).dag);
  const Split split = hold_out(tasks, {{"one", {{a, 2}}},
                                       {"two", {{a, 1}, {b, 5}, {"never seen", 1}}},
                                       {"none of it", {{"neither", 1}}}});
  EXPECT_EQ(split.held, (std::set<std::string>{a, b}));
  ASSERT_EQ(split.networks.size(), 2U);
  EXPECT_EQ(split.networks[1].tasks.size(), 2U);
  const Contestant c = compete("xgb", tasks, split, {.seed = 1, .threads = 1});
  EXPECT_EQ(c.asked, 80);
  EXPECT_GT(c.mean.top5, 0.5);
  EXPECT_GT(c.pooled.top5, 0.5);
  EXPECT_LE(c.mean.top5, 1);
}

}  // namespace
}  // namespace tenon::history
