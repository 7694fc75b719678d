// SPDX-License-Identifier: Apache-2.0
#include "timing/turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "timing/ceilings.h"
#include "timing/machine.h"

namespace tenon::timing {
namespace {

void wait_us(int64_t us) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST(Measure, ContestantsTakeTurnsAndTheFirstOneChanges) {
  std::string order;
  const auto note = [&order](char who) {
    return [&order, who] {
      wait_us(300);
      if (order.empty() || order.back() != who) {
        order += who;
      }
    };
  };
  const auto timings = measure({{.name = "a", .run = note('a')},
                                {.name = "b", .run = note('b')},
                                {.name = "c", .run = note('c')}},
                               {.rounds = 3, .turn_s = 0.001, .settle_s = 0});
  EXPECT_EQ(order, "abcbcacab");
  EXPECT_EQ(timings.size(), 3U);
}

TEST(Measure, BestIsNotAboveTheMedianAndNearTheTruth) {
  const auto timings = measure({{.name = "slow", .run = [] { wait_us(400); }},
                                {.name = "fast", .run = [] { wait_us(100); }}},
                               {.rounds = 3, .turn_s = 0.003, .settle_s = 0});
  for (const Timing& t : timings) {
    EXPECT_LE(t.best_s, t.median_s);
    EXPECT_LE(t.median_s, t.p90_s);
    EXPECT_GE(t.samples, 3);
    EXPECT_GE(t.spread(), 0);
  }
  EXPECT_GE(timings[0].best_s, 400e-6);
  EXPECT_GE(timings[1].best_s, 100e-6);
  EXPECT_LT(timings[1].best_s, timings[0].best_s);
}

TEST(Measure, ShortRunsAreTimedInBatches) {
  int64_t runs = 0;
  const auto timings = measure({{.name = "short", .run = [&runs] { ++runs; }}},
                               {.rounds = 1, .turn_s = 0.001, .settle_s = 0});
  EXPECT_GT(runs, 10 * timings[0].samples);
}

TEST(Ceilings, CountTheirWork) {
  const tenon_runtime* rt = tenon_runtime_create(2);
  const Ceiling fma = fma_ceiling(rt);
  const Ceiling triad = triad_ceiling(rt, 3 << 20);
  fma.contestant.run();
  triad.contestant.run();
  EXPECT_GT(fma.amount, 0);
  EXPECT_NEAR(triad.amount, 3 << 20, 3 << 12);
  tenon_runtime_destroy(rt);
}

TEST(Machine, PinnedGivesTheMaskBack) {
  const std::vector<int> before = usable_cpus();
  {
    const Pinned pinned(1);
    EXPECT_EQ(usable_cpus().size(), 1);
  }
  EXPECT_EQ(usable_cpus(), before);
}

TEST(Machine, ThreadsGetDifferentCpus) {
  const int cpus = static_cast<int>(usable_cpus().size());
  EXPECT_EQ(cpu_of(0, cpus + 1), -1);
  for (int thread = 1; thread < cpus; ++thread) {
    EXPECT_NE(cpu_of(thread, cpus), cpu_of(thread - 1, cpus));
  }
}

}  // namespace
}  // namespace tenon::timing
