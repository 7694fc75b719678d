// SPDX-License-Identifier: Apache-2.0
// Times two artifacts of one model against each other, turn by turn, on the same threads. They run
// in another process (tenon under the name tenon-compare): what one of them does to it ends with it.
//
//   auto timer = network_timer("/usr/libexec/tenon/tenon-compare");
//   NetworkTimes t = timer->compare("default", "tuned", {.threads = 2, .seconds = 3});
//   t.ratio                                         1.31: the second is faster
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ir/interp.h"

namespace tenon::measure {

struct NetworkTimes {
  std::string error;                         // not empty: nothing below counts
  double a_s = 0, b_s = 0;                   // medians of whole runs
  double ratio = 0, low = 0, high = 0;       // a / b, of paired turns, with its 95 % interval
  int64_t turns = 0;                         // pairs of them
  std::vector<double> a_steps_s, b_steps_s;  // medians, per step; of separate runs
  // The largest difference of outputs, relative to the largest value of that output.
  double difference = 0;
};

struct NetworkOptions {
  int threads = 1;
  double seconds = 3;
  // Both networks run at the sizes that they show; empty: random ones, of the largest sizes of the first.
  std::vector<ir::Array> inputs = {};
};

class NetworkTimer {
 public:
  virtual ~NetworkTimer() = default;
  // Never throws for what a network does.
  virtual NetworkTimes compare(const std::filesystem::path& a, const std::filesystem::path& b,
                               const NetworkOptions& options) = 0;
};

// `tool` is the path of tenon-compare.
std::unique_ptr<NetworkTimer> network_timer(const std::string& tool);

// The other side: answers comparisons until nobody asks any more. The whole of tenon-compare.
int serve_comparisons(int argc);

}  // namespace tenon::measure
