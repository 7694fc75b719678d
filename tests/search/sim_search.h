// SPDX-License-Identifier: Apache-2.0
// A search on the pretend device, round by round as the tuner does it, and tasks that are large enough to tell
// strategies apart.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "search/strategy/strategy.h"
#include "task/task.h"

namespace tenon::search {

struct Found {
  double best_s = std::numeric_limits<double>::infinity();
  std::vector<std::string> traces;  // in the order in which they were tried
  std::vector<double> seconds;      // of each
};

struct Effort {
  size_t population = 256;
  size_t trials = 16;  // per round
  size_t rounds = 6;
  bool draft = true;
};

Found search(const task::Task& t, const std::string& strategy_name, uint64_t seed, int threads,
             const std::string& space_name = "sketch", const Effort& effort = {});

task::Task matmul();  // 256
task::Task convolution();
task::Task dense();
task::Task strided();
task::Task pointwise();

}  // namespace tenon::search
