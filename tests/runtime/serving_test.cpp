// SPDX-License-Identifier: Apache-2.0
// Several contexts at once: which CPUs their threads get, and threads that they share.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "runtime/by_hand.h"
#include "runtime/pool.h"

namespace tenon::runtime {
namespace {

// How many threads of this process are pinned to each CPU.
std::map<int, int> pinned_threads() {
  std::map<int, int> count;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) {
    cpu_set_t mask;
    const int tid = atoi(entry->d_name);
    if (tid == 0 || sched_getaffinity(tid, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) != 1) {
      continue;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      count[cpu] += CPU_ISSET(static_cast<unsigned>(cpu), &mask) ? 1 : 0;
    }
  }
  closedir(folder);
  std::erase_if(count, [](const auto& c) { return c.second == 0; });
  return count;
}

int usable() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  return CPU_COUNT(&mask);
}

TEST(Serving, ContextsAreOnDisjointCpusUntilThereAreNoMore) {
  if (usable() < 2) {
    GTEST_SKIP() << "needs two CPUs";
  }
  const WeightsFile file;
  std::vector<Ctx> contexts;
  for (int i = 0; i < usable() + 2; ++i) {
    contexts.push_back(create(with_weights(file, 2)));
    fill_and_check(contexts.back().get(), Buffers(0), 1);
    for (const auto& [cpu, threads] : pinned_threads()) {
      EXPECT_EQ(threads, 1) << "CPU " << cpu << " with " << contexts.size() << " contexts";
    }
  }
  EXPECT_GE(pinned_threads().size(), 1U);
  contexts.clear();
  EXPECT_TRUE(pinned_threads().empty());  // what they held is free again
}

TEST(Serving, ContextsThatAreCreatedAtOnceAreOnDisjointCpusToo) {
  const WeightsFile file;
  for (int round = 0; round < 20; ++round) {
    std::vector<Ctx> contexts(4);
    std::vector<std::thread> threads;
    for (Ctx& ctx : contexts) {
      threads.emplace_back([&] { ctx = create(with_weights(file, 2)); });
    }
    for (std::thread& t : threads) {
      t.join();
    }
    for (const auto& [cpu, number] : pinned_threads()) {
      EXPECT_EQ(number, 1) << "CPU " << cpu;
    }
  }
}

TEST(Serving, WhoFindsNoFreeCpuPinsNothingAndSpinsLess) {
  if (usable() < 2) {
    GTEST_SKIP() << "needs two CPUs";
  }
  const PoolPlan alone = plan_pool(usable());
  EXPECT_TRUE(alone.pinned);
  std::atomic<int> pinned{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> holders;
  for (int i = 0; i < usable(); ++i) {
    holders.emplace_back([&, cpu = alone.cpus[i]] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(cpu), &one);
      sched_setaffinity(0, sizeof one, &one);
      for (++pinned; !stop;) {
        usleep(1000);
      }
    });
  }
  while (pinned < usable()) {
    usleep(1000);
  }
  const PoolPlan crowded = plan_pool(usable());
  stop = true;
  for (std::thread& t : holders) {
    t.join();
  }
  EXPECT_FALSE(crowded.pinned);
  EXPECT_LT(crowded.worker_spin_ns, alone.worker_spin_ns);
  EXPECT_EQ(crowded.threads, alone.threads);
}

// Contexts that run at once on threads that they share.
void run_at_once(const tenon_runtime* shared, int contexts, int runs) {
  const WeightsFile file;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < contexts; ++i) {
    threads.emplace_back([&, i] {
      tenon_model_options options = with_weights(file);
      options.runtime = shared;
      const Ctx ctx = create(options);
      const Buffers buffers(0);
      for (int run = 0; run < runs; ++run) {
        fill_and_check(ctx.get(), buffers, static_cast<float>(i + run));
      }
      failed += testing::Test::HasFailure() ? 1 : 0;
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(failed, 0);
}

TEST(Serving, ContextsShareThreads) {
  const char* why = nullptr;
  for (const int32_t threads : {0, 1, 2, 5}) {
    const tenon_runtime* shared = tenon_model_runtime_create(threads, &why);
    ASSERT_NE(shared, nullptr) << why;
    for (const int contexts : {1, 2, 7}) {
      run_at_once(shared, contexts, 50);
    }
    tenon_model_runtime_destroy(shared);
  }
  EXPECT_EQ(tenon_model_runtime_create(-1, &why), nullptr);
  EXPECT_STREQ(why, "-1 threads cannot be started: give 0 (one per core) or more");
  tenon_model_runtime_destroy(nullptr);
}

TEST(Serving, ContextsShareMoreThreadsThanThereAreCpus) {
  PoolPlan plan;
  plan.threads = 9;
  const tenon_runtime* shared = create_pool(plan, 9);
  ASSERT_NE(shared, nullptr);
  run_at_once(shared, 6, 50);
  tenon_runtime_destroy(shared);
}

}  // namespace
}  // namespace tenon::runtime
