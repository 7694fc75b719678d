// SPDX-License-Identifier: Apache-2.0
// Fork/join latency of the pool: an empty region on spinning workers, and after the workers fell
// asleep.
//   runtime_bench [threads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tenon/runtime.h"

namespace {

using Clock = std::chrono::steady_clock;

double region_us(const tenon_runtime* rt, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) {
    rt->parallel(
        rt, [](void*, int64_t, int64_t) {}, nullptr, rt->threads);
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / repeats;
}

void print(const char* what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  std::printf("%-28s min %8.3f us   median %8.3f us   90%% %8.3f us   (%zu samples)\n", what,
              us.front(), us[us.size() / 2], us[us.size() * 9 / 10], us.size());
}

}  // namespace

int main(int argc, char** argv) {
  const int threads =
      argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const tenon_runtime* rt = tenon_runtime_create(threads);
  if (rt == nullptr) {
    std::fprintf(stderr, "runtime_bench: cannot start %d threads\n", threads);
    return 1;
  }
  std::printf("threads %d\n", threads);
  region_us(rt, 10000);
  std::vector<double> hot;
  for (int i = 0; i < 200; ++i) {
    hot.push_back(region_us(rt, 1000));
  }
  print("spinning workers", hot);
  for (const int pause_us : {200, 2000, 20000}) {
    std::vector<double> woken;
    for (int i = 0; i < 100; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
      woken.push_back(region_us(rt, 1));
    }
    char what[64];
    std::snprintf(what, sizeof what, "after %d us of sleep", pause_us);
    print(what, woken);
  }
  tenon_runtime_destroy(rt);
  return 0;
}
