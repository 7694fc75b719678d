// SPDX-License-Identifier: Apache-2.0
#include "measure/estimate.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "measure/handoff.h"
#include "measure/wire.h"
#include "support/rng.h"

namespace tenon::measure {
namespace {

TEST(Estimate, SmallSamplesGiveTheirRange) {
  task::Measurement m;
  for (const double s : {3.0, 1.0, 2.0}) m.seconds.push_back(s);
  summarize(m);
  EXPECT_EQ(m.best_s, 1);
  EXPECT_EQ(m.median_s, 2);
  EXPECT_EQ(m.low_s, 1);
  EXPECT_EQ(m.high_s, 3);
  m.seconds = {4};
  summarize(m);
  EXPECT_EQ(m.low_s, 4);
  EXPECT_EQ(m.high_s, 4);
}

// An interval of 95 % holds the true median in about 95 of 100 experiments.
TEST(Estimate, IntervalsHoldTheMedianAsOftenAsPromised) {
  for (const int n : {11, 40, 101}) {
    Rng rng(7);
    int holds = 0;
    constexpr int kExperiments = 2000;
    for (int e = 0; e < kExperiments; ++e) {
      task::Measurement m;
      for (int i = 0; i < n; ++i) m.seconds.push_back(1 + rng.unit() * rng.unit());
      summarize(m);
      constexpr double kMedian = 1.18668;  // of 1 + u * v: x (1 - ln x) = 1/2 at 0.18668
      holds += m.low_s <= kMedian && kMedian <= m.high_s ? 1 : 0;
    }
    EXPECT_GE(holds, kExperiments * 0.94) << n;
    EXPECT_LE(holds, kExperiments * 0.995) << n;
  }
}

// Not a time that a test could demand: only that there is one, and that nobody is left pinned.
TEST(Handoff, IsKnownWhereThereAreTwoCores) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  double ns = 0;
  for (int tries = 0; tries < 100 && ns == 0; ++tries) ns = handoff_ns();
  if (CPU_COUNT(&before) > 1) {
    EXPECT_GT(ns, 1);
  } else {
    EXPECT_EQ(ns, 0);
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Wire, JobsReadBack) {
  RunJob job;
  job.library = std::string("\0lib\n", 5);
  job.workspace_bytes = int64_t{5} << 32;
  job.params = {{'i', "f32", 12}, {'c', "bool", 0}, {'o', "bf16", 70}};
  job.threads = 3;
  job.cold = false;
  job.min_run_s = 0.1;
  job.check = true;
  job.poison = 0x55;
  RunJob back;
  ASSERT_TRUE(decode(encode(job), back));
  EXPECT_EQ(encode(back), encode(job));
  EXPECT_EQ(back.params[2].bytes, 70);
  EXPECT_EQ(offsets(back.params), (std::vector<int64_t>{0, 64, 64, 192}));
  Message m = encode(job);
  m[11] = "c bool";
  EXPECT_FALSE(decode(m, back));
  m.resize(5);
  EXPECT_FALSE(decode(m, back));
}

}  // namespace
}  // namespace tenon::measure
