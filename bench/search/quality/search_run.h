// SPDX-License-Identifier: Apache-2.0
// One search of an arm for a task with a seed: the loop of tenon tune without records, seen from
// the measurer's side. The curve has the start first, then one entry per trial.
//
//   search(arm, task, {.trials = 64, .seed = 1}, device).curve  =>  2.1e-3, 1.9e-3, 1.9e-3, ...
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/search/quality/arms.h"
#include "measure/measure.h"

namespace tenon::quality {

struct SearchOptions {
  int64_t trials = 256;
  int64_t round = 32;
  uint64_t seed = 1;
  int threads = 0;  // for thinking; 0: those that measuring leaves
  Given given;
  bool sim = false;  // time goes by with the questions after it, so that all is the same each time
  size_t population = 0;  // 0: the strategy's own
};

struct SearchResult {
  bool complete = false;      // not stopped before its trials, or the space, were used up
  std::vector<double> curve;  // best so far in seconds; infinity until something ran right
  std::vector<double> at_s;   // seconds since the beginning
  std::string best;           // trace as JSON; empty: nothing ran right
  double best_s = 0;          // the end of the curve
  int64_t failed = 0, wrong = 0;
};

SearchResult search(const Arm& arm, const task::Task& t, const SearchOptions& options,
                    measure::Measurer& device, const std::function<bool()>& stop);

}  // namespace tenon::quality
