// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <string>
#include <thread>

#include "target/target.h"

namespace tenon::target {
namespace {

TEST(Host, IsPlausible) {
  const Target t = host_target();
  EXPECT_EQ(t.name, "host");
  EXPECT_FALSE(t.machine.empty());
  EXPECT_GE(t.cpu().cores, 1);
  EXPECT_LE(t.cpu().cores, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GE(t.cpu().l1d_bytes, 8 << 10);
  EXPECT_GE(t.cpu().l2_bytes, t.cpu().l1d_bytes);
  EXPECT_TRUE(t.cpu().line_bytes == 32 || t.cpu().line_bytes == 64 || t.cpu().line_bytes == 128)
      << t.cpu().line_bytes;
}

TEST(Host, DetectionIsRepeatable) {
  EXPECT_EQ(host_target().fingerprint(), host_target().fingerprint());
  EXPECT_EQ(host_target().fingerprint(), parse_target("host").fingerprint());
}

#if defined(__x86_64__)
// The kernel lists what it found by the same instruction; it is the second opinion.
TEST(Host, AgreesWithTheKernel) {
  std::ifstream in("/proc/cpuinfo");
  std::string flags;
  for (std::string line; flags.empty() && std::getline(in, line);) {
    if (line.starts_with("flags")) {
      flags = line + " ";
    }
  }
  if (flags.empty()) {
    GTEST_SKIP() << "no flags in /proc/cpuinfo";
  }
  const auto has = [&](const std::string& flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
  };
  const Target t = host_target();
  EXPECT_EQ(t.cpu().vector_bytes == 64, has("avx512f") && has("avx512bw") && has("avx512dq") &&
                                            has("avx512vl") && has("avx512cd"));
  EXPECT_EQ(t.cpu().vector_bytes >= 32, has("avx2") && has("fma") && has("bmi2"));
  EXPECT_EQ(t.cpu().has_fma, t.cpu().vector_bytes >= 32);
}
#endif

TEST(Host, FollowsAffinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(host_target().cpu().cores, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(RunsHere, LowerLevelsAndOnlyThisArchitecture) {
  const Target host = host_target();
  EXPECT_TRUE(runs_here(host));
  const std::string all =
      with_bfloat16(host)
          .cpu()
          .features;  // a target of this machine does without unless it is asked for
  for (const Target& t : known_targets()) {
    const bool has_features = all.find(t.cpu().features) != std::string::npos;
    EXPECT_EQ(runs_here(t), t.arch == host.arch &&
                                t.cpu().vector_bytes <= host.cpu().vector_bytes && has_features)
        << t.name;
  }
  Target unknown = host;
  unknown.cpu().processor = "i486";
  EXPECT_FALSE(runs_here(unknown));
  Target extended = host;
  extended.cpu().features = "+amx-tile";
  EXPECT_FALSE(runs_here(extended));
}

}  // namespace
}  // namespace tenon::target
