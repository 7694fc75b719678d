// SPDX-License-Identifier: Apache-2.0
// Interleaved measurement: contestants take turns in one process, round after round, so that all of
// them see the same clocks, neighbours and memory.
//
//   auto t = measure({{"ours", run_ours}, {"theirs", run_theirs}}, {.rounds = 10});
//   ratio = t[1].best_s / t[0].best_s;
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::timing {

struct Contestant {
  std::string name;
  std::function<void()> run = {};
  // What the last run computed, in logical row-major order. Empty function: nothing to verify (a
  // ceiling).
  std::function<std::vector<float>()> output = {};
  std::string detail = {};  // which of its kernels, for the report
  double compile_ms = 0;    // 0: not compiled for this row
};

struct Protocol {
  int rounds = 10;
  double turn_s = 0.03;  // timed share of a turn; a contestant slower than this runs once per turn
  double settle_s =
      0.0;  // before each turn: others' worker threads spin for a while before they sleep
};

struct Timing {
  double best_s = 0;  // the estimator
  double median_s = 0;
  double p90_s = 0;
  int64_t samples = 0;
  double cpus = 0;  // process CPU time / wall time while it was timed
  // How far the median is above the best: 0.02 = 2 %.
  double spread() const { return best_s > 0 ? median_s / best_s - 1 : 0; }
};

// One Timing per contestant, in order. A sample is one run, or as many as take 20 us.
std::vector<Timing> measure(const std::vector<Contestant>& contestants, const Protocol& protocol);

}  // namespace tenon::timing
