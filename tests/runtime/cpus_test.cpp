// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>

namespace tenon::runtime {
namespace {

TEST(UsableCpus, IsTheAffinityMaskWithoutRepeats) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const CpuList list = usable_cpus();
  EXPECT_EQ(list.count, CPU_COUNT(&mask));
  std::set<int> seen;
  for (int i = 0; i < list.count; ++i) {
    EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(list.cpus[i]), &mask)) << list.cpus[i];
    EXPECT_TRUE(seen.insert(list.cpus[i]).second) << list.cpus[i];
  }
}

TEST(UsableCpus, RespectsANarrowMaskAndStartsWithTheCurrentCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) {
      continue;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const CpuList narrow = usable_cpus();
    EXPECT_EQ(narrow.count, 1);
    EXPECT_EQ(narrow.cpus[0], static_cast<int>(cpu));
    EXPECT_EQ(narrow.cores, 1);
    EXPECT_EQ(default_threads(), 1);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  }
}

TEST(UsableCpus, ThereIsAThreadPerCoreAtMost) {
  const CpuList list = usable_cpus();
  EXPECT_GE(list.cores, 1);
  EXPECT_LE(list.cores, list.count);
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), list.cores);
}

}  // namespace
}  // namespace tenon::runtime
