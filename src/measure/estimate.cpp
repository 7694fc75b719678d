// SPDX-License-Identifier: Apache-2.0
#include "measure/estimate.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "support/median.h"

namespace tenon::measure {

void summarize(task::Measurement& m) {
  std::vector<double> sorted = m.seconds;
  std::sort(sorted.begin(), sorted.end());
  const Median median = median_of(sorted);
  m.best_s = sorted.front();
  m.median_s = median.middle;
  m.low_s = median.low;
  m.high_s = median.high;
}

MachineState machine_state() {
  MachineState s;
  std::ifstream("/proc/loadavg") >> s.load1;
  double khz = 0;
  if (std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq") >> khz) {
    s.mhz = khz / 1000;
    return s;
  }
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("cpu MHz")) {
      s.mhz = std::strtod(line.substr(line.find(':') + 1).c_str(), nullptr);
      break;
    }
  }
  return s;
}

MachineState MachineWatch::now() {
  const std::scoped_lock lock(mutex_);
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (seen_at_ < 0 || now - seen_at_ >= 1) {
    seen_ = machine_state();
    seen_at_ = now;
  }
  return seen_;
}

}  // namespace tenon::measure
