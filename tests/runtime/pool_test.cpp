// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/pool.h"
#include "tenon/runtime.h"

namespace {

struct Destroy {
  void operator()(const tenon_runtime* rt) const { tenon_runtime_destroy(rt); }
};
using Runtime = std::unique_ptr<const tenon_runtime, Destroy>;

Runtime make(int32_t threads) { return Runtime(tenon_runtime_create(threads)); }

// As many threads as said, also where the machine has fewer CPUs.
Runtime make_real(int32_t threads) {
  tenon::runtime::PoolPlan plan;
  plan.threads = threads;
  return Runtime(create_pool(plan, threads));
}

template <class F>
void parallel(const Runtime& rt, int64_t n, F body) {
  rt->parallel(
      rt.get(), [](void* f, int64_t begin, int64_t end) { (*static_cast<F*>(f))(begin, end); },
      &body, n);
}

struct Range {
  int64_t begin, end;
};

// The ranges of one region, in order of begin.
std::vector<Range> ranges(const Runtime& rt, int64_t n) {
  std::mutex guard;
  std::vector<Range> out;
  parallel(rt, n, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(guard);
    out.push_back({begin, end});
  });
  std::sort(out.begin(), out.end(), [](Range a, Range b) { return a.begin < b.begin; });
  return out;
}

// Like parallel with an iteration per thread, but the iterations end only when all have begun, so that each runs on a
// thread of its own.
template <class F>
void parallel_all_awake(const Runtime& rt, F body) {
  std::atomic<int32_t> arrived{0};
  parallel(rt, rt->threads, [&](int64_t begin, int64_t end) {
    body(begin, end);
    arrived += static_cast<int32_t>(end - begin);
    while (arrived < rt->threads) {
      std::this_thread::yield();
    }
  });
}

void sleep_us(int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

class PoolOfThreads : public testing::TestWithParam<int32_t> {};

TEST_P(PoolOfThreads, RangesCoverEverythingOnce) {
  const int32_t threads = GetParam();
  const Runtime rt = make_real(threads);
  ASSERT_NE(rt, nullptr);
  EXPECT_EQ(rt->threads, threads);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const int64_t n :
       {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{threads} - 1, int64_t{threads},
        int64_t{threads} + 1, int64_t{97}, int64_t{1} << 40, huge}) {
    const std::vector<Range> got = ranges(rt, n);
    EXPECT_GE(got.size(), static_cast<size_t>(std::min<int64_t>(n, threads))) << "n = " << n;
    EXPECT_LE(got.size(), static_cast<size_t>(8 * threads)) << "n = " << n;
    int64_t next = 0;
    for (const Range r : got) {
      EXPECT_EQ(r.begin, next) << "n = " << n;
      EXPECT_GT(r.end, r.begin) << "n = " << n;
      next = r.end;
    }
    EXPECT_EQ(next, n);
  }
}

TEST_P(PoolOfThreads, NegativeCountIsEmpty) {
  const Runtime rt = make_real(GetParam());
  EXPECT_TRUE(ranges(rt, -5).empty());
}

// Plain (not atomic) writes: the region must order them before what follows it.
TEST_P(PoolOfThreads, ManyRegionsBackToBack) {
  const Runtime rt = make_real(GetParam());
  const int64_t regions =
      GetParam() > static_cast<int32_t>(std::thread::hardware_concurrency()) ? 2000 : 50000;
  std::vector<int64_t> counts(37, 0);
  for (int64_t region = 0; region < regions; ++region) {
    const int64_t n = region % 38;
    parallel(rt, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        counts[static_cast<size_t>(i)] += 1;
      }
    });
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    int64_t expected = 0;
    for (int64_t region = 0; region < regions; ++region) {
      expected += static_cast<int64_t>(i) < region % 38 ? 1 : 0;
    }
    EXPECT_EQ(counts[i], expected) << "element " << i;
  }
}

// Pauses around the spinning time, so that workers are caught awake, asleep and falling asleep.
TEST_P(PoolOfThreads, SleepAndWake) {
  const Runtime rt = make_real(GetParam());
  std::vector<int64_t> counts(64, 0);
  constexpr int kCycles = 300;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    sleep_us(cycle % 5 == 0 ? 1000 : cycle % 100);
    parallel(rt, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        counts[static_cast<size_t>(i)] += 1;
      }
    });
  }
  for (const int64_t c : counts) {
    EXPECT_EQ(c, kCycles);
  }
}

TEST(Pool, ASmallRegionDoesNotWaitForSleepers) {
  const Runtime rt = make_real(4);
  const pthread_t caller = pthread_self();
  int64_t taken = 0;
  for (int cycle = 0; cycle < 100 && taken == 0; ++cycle) {
    sleep_us(2000);
    std::atomic<int64_t> by_caller{0};
    std::atomic<int64_t> all{0};
    parallel(rt, 4, [&](int64_t begin, int64_t end) {
      all += end - begin;
      by_caller += pthread_equal(caller, pthread_self()) != 0 ? end - begin : 0;
    });
    EXPECT_EQ(all, 4);
    taken += by_caller - 1;
  }
  EXPECT_GT(taken, 0);
}

// The caller finishes long before the workers and must fall asleep and be woken.
TEST_P(PoolOfThreads, CallerWaitsForSlowWorkers) {
  const Runtime rt = make_real(GetParam());
  for (int cycle = 0; cycle < 20; ++cycle) {
    std::vector<int> done(static_cast<size_t>(GetParam()), 0);
    parallel(rt, GetParam(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        sleep_us(i == 0 ? 0 : 1000);
        done[static_cast<size_t>(i)] = 1;
      }
    });
    for (const int d : done) {
      EXPECT_EQ(d, 1);
    }
  }
}

TEST_P(PoolOfThreads, CallsInsideABodyAreSafe) {
  const Runtime rt = make_real(GetParam());
  const int64_t outer = 2 * GetParam();
  std::vector<std::vector<int>> counts(static_cast<size_t>(outer), std::vector<int>(50, 0));
  parallel(rt, outer, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      parallel(rt, 50, [&](int64_t b, int64_t e) {
        for (int64_t j = b; j < e; ++j) {
          counts[static_cast<size_t>(i)][static_cast<size_t>(j)] += 1;
        }
      });
    }
  });
  for (const auto& row : counts) {
    EXPECT_EQ(row, std::vector<int>(50, 1));
  }
}

// A thread that is held up in its first pieces: the others run the rest of its share.
TEST_P(PoolOfThreads, OthersTakeWhatALateThreadHasLeft) {
  const int32_t threads = GetParam();
  if (threads == 1) {
    GTEST_SKIP() << "there are no others";
  }
  const Runtime rt = make_real(threads);
  const int64_t n = 8 * threads;
  std::atomic<int64_t> done{0};
  std::vector<int> counts(static_cast<size_t>(n), 0);
  parallel(rt, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      counts[static_cast<size_t>(i)] += 1;
    }
    done += end - begin;
    // The caller's first half waits until everything else is done, which only others can do.
    while (begin == 0 && done < n) {
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(counts, std::vector<int>(static_cast<size_t>(n), 1));
}

INSTANTIATE_TEST_SUITE_P(Threads, PoolOfThreads, testing::Values(1, 2, 3, 7, 16, 33, 64));

TEST(Pool, RefusesFewerThanOneThread) {
  EXPECT_EQ(tenon_runtime_create(0), nullptr);
  EXPECT_EQ(tenon_runtime_create(-1), nullptr);
  tenon_runtime_destroy(nullptr);
}

TEST(Pool, EachThreadHasTheSameShareInEveryRegion) {
  const Runtime rt = make_real(4);
  const pthread_t caller = pthread_self();
  pthread_t of_share[4];
  for (int region = 0; region < 20; ++region) {
    parallel_all_awake(rt, [&](int64_t begin, int64_t) {
      EXPECT_EQ(begin == 0, pthread_equal(caller, pthread_self()) != 0);
      if (region == 0) {
        of_share[begin] = pthread_self();
      }
      EXPECT_TRUE(pthread_equal(of_share[begin], pthread_self()) != 0) << begin;
    });
  }
  EXPECT_EQ(std::set<pthread_t>(of_share, of_share + 4).size(), 4U);
}

TEST(Pool, ThereAreNoMoreThreadsThanCpus) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int cpus = CPU_COUNT(&before);
  EXPECT_EQ(tenon::runtime::plan_pool(64).threads, std::min(64, cpus));
  EXPECT_EQ(tenon::runtime::plan_pool(1).threads, 1);
  const Runtime rt = make(cpus + 3);
  EXPECT_EQ(rt->threads, cpus + 3);
  std::mutex guard;
  std::set<pthread_t> threads;
  parallel(rt, 1000, [&](int64_t, int64_t) {
    const std::lock_guard lock(guard);
    threads.insert(pthread_self());
  });
  EXPECT_LE(threads.size(), static_cast<size_t>(cpus));
}

TEST(Pool, TheCallerKeepsItsAffinityAndPinnedWorkersHaveOneCpuEach) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int cpus = CPU_COUNT(&before);
  const Runtime rt = make(cpus);
  std::mutex guard;
  std::set<int> pinned_to;
  parallel_all_awake(rt, [&](int64_t begin, int64_t) {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    if (begin == 0) {
      EXPECT_TRUE(CPU_EQUAL(&mask, &before));
      return;
    }
    ASSERT_EQ(CPU_COUNT(&mask), 1);
    const std::lock_guard lock(guard);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) {
        EXPECT_TRUE(CPU_ISSET(cpu, &before));
        pinned_to.insert(static_cast<int>(cpu));
      }
    }
  });
  EXPECT_EQ(pinned_to.size(), static_cast<size_t>(cpus - 1));
}

TEST(Pool, WorkersLeaveTheCpuThatTheCallerMovesTo) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) != 2) {
    GTEST_SKIP() << "needs exactly two CPUs to force a collision";
  }
  const Runtime rt = make(2);
  for (int round = 0; round < 6; ++round) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before)) {
        continue;
      }
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      int at[2] = {-1, -1};
      parallel(rt, 2, [](int64_t, int64_t) {});  // notices that the caller has moved
      parallel_all_awake(rt, [&](int64_t begin, int64_t) { at[begin] = sched_getcpu(); });
      EXPECT_EQ(at[0], static_cast<int>(cpu));
      EXPECT_NE(at[1], at[0]);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Pool, WorkersHaveBigStacks) {
  const Runtime rt = make_real(2);
  parallel_all_awake(rt, [&](int64_t begin, int64_t) {
    if (begin == 0) {
      return;
    }
    volatile char block[6 << 20];
    for (size_t i = 0; i < sizeof block; i += 4096) {
      block[i] = 1;
    }
    EXPECT_EQ(block[0], 1);
  });
}

TEST(Pool, TwoRuntimesAtOnceFromTwoThreads) {
  auto work = [](int64_t* total) {
    const Runtime rt = make_real(2);
    for (int region = 0; region < 3000; ++region) {
      std::atomic<int64_t> sum{0};
      parallel(rt, 100, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          sum += i;
        }
      });
      *total += sum;
    }
  };
  int64_t totals[2] = {0, 0};
  std::thread other(work, &totals[1]);
  work(&totals[0]);
  other.join();
  EXPECT_EQ(totals[0], 3000 * 4950);
  EXPECT_EQ(totals[1], 3000 * 4950);
}

TEST(Pool, OneRuntimeFromTwoThreadsIsSafe) {
  const Runtime rt = make_real(3);
  auto work = [&rt](std::vector<int>* counts) {
    for (int region = 0; region < 3000; ++region) {
      parallel(rt, 20, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          (*counts)[static_cast<size_t>(i)] += 1;
        }
      });
    }
  };
  std::vector<int> mine(20, 0);
  std::vector<int> theirs(20, 0);
  std::thread other(work, &theirs);
  work(&mine);
  other.join();
  EXPECT_EQ(mine, std::vector<int>(20, 3000));
  EXPECT_EQ(theirs, std::vector<int>(20, 3000));
}

TEST(Pool, CreatedUsedAndDestroyedManyTimes) {
  for (int round = 0; round < 200; ++round) {
    const Runtime rt = make_real(1 + round % 5);
    if (round % 3 == 0) {
      continue;  // never used
    }
    std::atomic<int64_t> sum{0};
    parallel(rt, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 10);
  }
}

TEST(Pool, InAChildOfForkEverythingRunsOnTheCaller) {
  for (int round = 0; round < 60; ++round) {
    Runtime rt = make_real(1 + round % 4);
    parallel(rt, 8, [](int64_t, int64_t) {});
    sleep_us(round % 3 * 100);  // workers are awake, or asleep
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // ends a child that hangs
      int64_t sum = 0;
      parallel(rt, 100, [&](int64_t begin, int64_t end) { sum += end - begin; });
      rt.reset();
      _exit(sum == 100 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "round " << round;
  }
}

TEST(PoolDeathTest, AnExceptionEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto throw_at = [](int64_t where) {
    const Runtime rt = make_real(2);
    parallel_all_awake(rt, [&](int64_t begin, int64_t) {
      if (begin == where) {
        throw std::runtime_error("from a body");
      }
    });
  };
  EXPECT_DEATH(
      {
        try {
          throw_at(0);
        } catch (...) {
        }
      },
      "terminate");
  EXPECT_DEATH(throw_at(1), "terminate");
}

}  // namespace
