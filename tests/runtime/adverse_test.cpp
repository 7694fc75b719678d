// SPDX-License-Identifier: Apache-2.0
// Pools on machines that are short of CPUs: every answer is right and nothing hangs. How long it takes is printed by
// runtime_bench.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <vector>

#include "runtime/pool.h"
#include "tenon/runtime.h"

namespace tenon::runtime {
namespace {

// Regions of several lengths, some after a pause; true if every element was counted as often as it should be.
bool count_regions(const tenon_runtime* rt, int regions) {
  constexpr int64_t kLengths[] = {1, 2, 7, 64, 1000};
  std::vector<int64_t> counts(1000, 0);
  std::vector<int64_t> expected(1000, 0);
  for (int region = 0; region < regions; ++region) {
    const int64_t n = kLengths[region % 5];
    if (region % 50 == 0) {
      usleep(300);
    }
    rt->parallel(
        rt,
        [](void* closure, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            static_cast<int64_t*>(closure)[i] += 1;
          }
        },
        counts.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      expected[static_cast<size_t>(i)] += 1;
    }
  }
  return counts == expected;
}

// In a process of its own, which is ended when it hangs.
void expect_in_child(const std::function<bool()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(run() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

bool created_and_right(int32_t threads, int regions) {
  const tenon_runtime* rt = tenon_runtime_create(threads);
  const bool right = rt != nullptr && count_regions(rt, regions);
  tenon_runtime_destroy(rt);
  return right;
}

bool real_and_right(int32_t threads, int regions) {
  PoolPlan plan;
  plan.threads = threads;
  plan.worker_spin_ns = plan.caller_spin_ns = 50'000;  // as if there were a CPU for each
  const tenon_runtime* rt = create_pool(plan, threads);
  const bool right = rt != nullptr && count_regions(rt, regions);
  tenon_runtime_destroy(rt);
  return right;
}

void keep_one_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
}

TEST(Adverse, OneTo64Threads) {
  for (const int32_t threads : {1, 2, 3, 8, 16, 31, 64}) {
    expect_in_child([&] { return created_and_right(threads, 1000); });
    expect_in_child([&] { return real_and_right(threads, 300); });
  }
}

TEST(Adverse, OneCpu) {
  for (const int32_t threads : {1, 2, 16}) {
    expect_in_child([&] {
      keep_one_cpu();
      return created_and_right(threads, 1000) && real_and_right(threads, 300);
    });
  }
}

// Another program has one of the CPUs for itself, as far as it can.
TEST(Adverse, AnotherProgramSpins) {
  const pid_t other = fork();
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_one_cpu();
    for (volatile int i = 0;; i = i + 1) {
    }
  }
  for (const int32_t threads : {2, 4, 16}) {
    expect_in_child(
        [&] { return created_and_right(threads, 1000) && real_and_right(threads, 300); });
  }
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

bool write_number(const std::string& path, int64_t value) {
  std::ofstream file(path);
  file << value << std::flush;
  return file.good();
}

// Half a CPU for the process, by a control group of version 1 or 2. False where groups cannot be made.
bool grant_half(const std::string& root, std::string& group) {
  group = root + "/tenon_adverse_" + std::to_string(getpid());
  if (mkdir(group.c_str(), 0755) != 0) {
    return false;
  }
  if (write_number(group + "/cpu.cfs_period_us", 20000) &&
      write_number(group + "/cpu.cfs_quota_us", 10000)) {
    return true;
  }
  std::ofstream limit(group + "/cpu.max");
  limit << "10000 20000" << std::flush;
  return limit.good();
}

TEST(Adverse, HalfACpuIsGranted) {
  std::string group;
  bool granted = false;
  for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
    granted = granted || grant_half(root, group);
    if (!granted) {
      rmdir(group.c_str());
    }
  }
  if (!granted) {
    GTEST_SKIP() << "needs the right to make control groups";
  }
  for (const int32_t threads : {1, 2, 8}) {
    expect_in_child([&] {
      return write_number(group + "/cgroup.procs", getpid()) && created_and_right(threads, 1000) &&
             real_and_right(threads, 300);
    });
  }
  rmdir(group.c_str());
}

}  // namespace
}  // namespace tenon::runtime
