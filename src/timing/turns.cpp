// SPDX-License-Identifier: Apache-2.0
#include "timing/turns.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace tenon::timing {
namespace {

constexpr double kSampleS = 20e-6;

double clock_s(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double wall_s() { return clock_s(CLOCK_MONOTONIC); }

double timed_runs(const Contestant& c, int64_t runs) {
  const double start = wall_s();
  for (int64_t i = 0; i < runs; ++i) {
    c.run();
  }
  return wall_s() - start;
}

// Everything of one contestant over all rounds.
struct Tally {
  std::vector<double> samples;
  double wall = 0;
  double cpu = 0;
};

// Warms caches and clocks up and says how many runs make a sample.
int64_t warm_up(const Contestant& c, double turn_s) {
  double fastest = timed_runs(c, 1);
  const double until = wall_s() + 0.1 * turn_s;
  do {
    fastest = std::min(fastest, timed_runs(c, 1));
  } while (wall_s() < until);
  return std::max<int64_t>(1, std::llround(std::ceil(kSampleS / std::max(fastest, 1e-9))));
}

void take_turn(const Contestant& c, const Protocol& protocol, Tally& tally) {
  if (protocol.settle_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(protocol.settle_s));
  }
  const int64_t runs = warm_up(c, protocol.turn_s);
  const double wall = wall_s();
  const double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  do {
    tally.samples.push_back(timed_runs(c, runs) / static_cast<double>(runs));
  } while (wall_s() < wall + protocol.turn_s);
  tally.wall += wall_s() - wall;
  tally.cpu += clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

Timing summarize(Tally& tally) {
  std::vector<double>& s = tally.samples;
  std::sort(s.begin(), s.end());
  return {.best_s = s.front(),
          .median_s = s[s.size() / 2],
          .p90_s = s[s.size() * 9 / 10],
          .samples = static_cast<int64_t>(s.size()),
          .cpus = tally.cpu / tally.wall};
}

}  // namespace

std::vector<Timing> measure(const std::vector<Contestant>& contestants, const Protocol& protocol) {
  const size_t count = contestants.size();
  std::vector<Tally> tallies(count);
  for (int round = 0; round < std::max(1, protocol.rounds); ++round) {
    for (size_t i = 0; i < count; ++i) {
      // Each round starts one further on, so that nobody always follows the same neighbour.
      const size_t who = (i + static_cast<size_t>(round)) % count;
      take_turn(contestants[who], protocol, tallies[who]);
    }
  }
  std::vector<Timing> timings;
  for (Tally& tally : tallies) {
    timings.push_back(summarize(tally));
  }
  return timings;
}

}  // namespace tenon::timing
