// SPDX-License-Identifier: Apache-2.0
// Times whole networks, two artifacts of one model against each other, turn by turn, in another process.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tenon::tune {

struct NetworkTimes {
  std::string error;        // not empty: one of them did not run, and nothing below counts
  double a_s = 0, b_s = 0;  // medians of whole runs
  double ratio = 0, low = 0, high = 0;       // a / b, of paired turns, with its 95 % interval
  std::vector<double> a_steps_s, b_steps_s;  // medians, per step; of separate runs
  double difference =
      0;  // largest difference of outputs, relative to the largest value of that output
};

class NetworkTimer {
 public:
  virtual ~NetworkTimer() = default;
  virtual NetworkTimes compare(const std::filesystem::path& a, const std::filesystem::path& b,
                               int threads, double seconds) = 0;
};

// By `tenon bench A --against B`; `tenon` is its path.
std::unique_ptr<NetworkTimer> process_network_timer(const std::string& tenon);

}  // namespace tenon::tune
