// SPDX-License-Identifier: Apache-2.0
#include "measure/handoff.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tenon::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 8, kRounds = 64;
constexpr auto kGivenUpAfter = std::chrono::milliseconds(10);

struct Ball {
  alignas(64) std::atomic<int> line{0};
  char rest[60] = {};
};

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (CPU_ISSET(static_cast<size_t>(c), &set)) cores.push_back(c);
  }
  return cores;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

bool wait_for(const std::atomic<int>& line, int value, Clock::time_point end) {
  for (int spins = 1; line.load(std::memory_order_acquire) != value; ++spins) {
    if (spins % 256 == 0 && Clock::now() > end) return false;
  }
  return true;
}

// Odd numbers go there, even ones come back.
void answer(Ball& ball, Clock::time_point end) {
  for (int i = 1; i < 2 * kTries * kRounds; i += 2) {
    if (!wait_for(ball.line, i, end)) return;
    ball.line.store(i + 1, std::memory_order_release);
  }
}

double ask(Ball& ball, Clock::time_point end) {
  double best = 0;
  int i = 1;
  for (int t = 0; t < kTries; ++t) {
    const auto start = Clock::now();
    for (int r = 0; r < kRounds; ++r, i += 2) {
      ball.line.store(i, std::memory_order_release);
      if (!wait_for(ball.line, i + 1, end)) return best;
    }
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    best = best == 0 ? ns / kRounds : std::min(best, ns / kRounds);
  }
  return best;
}

}  // namespace

double handoff_ns() {
  const std::vector<int> cores = usable_cores();
  if (cores.size() < 2) return 0;
  Ball ball;
  double ns = 0;
  const auto end = Clock::now() + kGivenUpAfter;
  // Both in threads of their own: the caller stays where it may run.
  std::thread other([&] {
    pin(cores[1]);
    answer(ball, end);
  });
  std::thread here([&] {
    pin(cores[0]);
    ns = ask(ball, end);
  });
  here.join();
  other.join();
  return ns;
}

}  // namespace tenon::measure
