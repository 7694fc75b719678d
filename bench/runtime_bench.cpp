// SPDX-License-Identifier: Apache-2.0
// How the pool of threads does on this machine. A program of its own that can be carried to another one.
//   runtime_bench [THREADS]...    fork and join of empty regions, workers awake and asleep; 1 2 4 8 .. without a number
//   runtime_bench --adverse       a loop of work while CPUs are short, beside the same on one thread
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tenon/runtime.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Times {
  double min, median, p90;
};

Times summary(std::vector<double> us) {
  std::sort(us.begin(), us.end());
  return {us.front(), us[us.size() / 2], us[us.size() * 9 / 10]};
}

double region_us(const tenon_runtime* rt, tenon_body body, int64_t n, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) {
    rt->parallel(rt, body, nullptr, n);
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / repeats;
}

void nothing(void*, int64_t, int64_t) {}

// About a microsecond for each iteration.
void work(void*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    volatile double x = 1;
    for (int step = 0; step < 700; ++step) {
      x = x * 1.0000001;
    }
  }
}

Times awake(const tenon_runtime* rt) {
  region_us(rt, nothing, rt->threads, 2000);
  std::vector<double> us;
  for (int i = 0; i < 200; ++i) {
    us.push_back(region_us(rt, nothing, rt->threads, 200));
  }
  return summary(us);
}

Times after_sleep(const tenon_runtime* rt) {
  std::vector<double> us;
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(2000));
    us.push_back(region_us(rt, nothing, rt->threads, 1));
  }
  return summary(us);
}

int fork_and_join(std::vector<int> threads) {
  if (threads.empty()) {
    const int cpus = static_cast<int>(std::thread::hardware_concurrency());
    for (int n = 1; n < cpus; n *= 2) {
      threads.push_back(n);
    }
    threads.push_back(cpus);
  }
  std::printf("us        awake: min  median     90%%   after sleep: min  median     90%%\n");
  for (const int n : threads) {
    const tenon_runtime* rt = tenon_runtime_create(n);
    if (rt == nullptr) {
      std::fprintf(stderr, "runtime_bench: cannot start %d threads\n", n);
      return 1;
    }
    const Times a = awake(rt);
    const Times s = after_sleep(rt);
    std::printf("%3d threads  %7.2f %7.2f %7.2f           %7.2f %7.2f %7.2f\n", n, a.min, a.median,
                a.p90, s.min, s.median, s.p90);
    tenon_runtime_destroy(rt);
  }
  return 0;
}

// Networks in small: twenty loops of 5 to 100 us in a row.
Times network(int threads) {
  const tenon_runtime* rt = tenon_runtime_create(threads);
  std::vector<double> us;
  for (int run = 0; rt != nullptr && run < 60; ++run) {
    const auto start = Clock::now();
    for (int loop = 0; loop < 20; ++loop) {
      rt->parallel(rt, work, nullptr, 5 + 5 * loop);
    }
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  tenon_runtime_destroy(rt);
  return us.empty() ? Times{0, 0, 0} : summary(us);
}

void print(const char* what, int threads, Times t) {
  std::printf("%-28s %3d threads   min %8.0f   median %8.0f   90%% %8.0f us\n", what, threads,
              t.min, t.median, t.p90);
}

void keep_one_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
}

int adverse() {
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  print("alone", 1, network(1));
  for (const int threads : {2, cpus, 16, 64}) {
    print("alone", threads, network(threads));
  }
  const pid_t other = fork();
  if (other == 0) {
    keep_one_cpu();
    for (volatile int i = 0;; i = i + 1) {
    }
  }
  for (const int threads : {1, cpus, 64}) {
    print("another program spins", threads, network(threads));
  }
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  keep_one_cpu();
  for (const int threads : {1, 2, 64}) {
    print("one CPU", threads, network(threads));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc == 2 && std::strcmp(argv[1], "--adverse") == 0) {
    return adverse();
  }
  std::vector<int> threads;
  for (int i = 1; i < argc; ++i) {
    threads.push_back(std::atoi(argv[i]));
  }
  return fork_and_join(threads);
}
