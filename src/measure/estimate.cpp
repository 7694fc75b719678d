// SPDX-License-Identifier: Apache-2.0
#include "measure/estimate.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "support/check.h"

namespace tenon::measure {

void summarize(task::Measurement& m) {
  TENON_CHECK(!m.seconds.empty());
  std::vector<double> sorted = m.seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  m.best_s = sorted.front();
  m.median_s = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  // The number of times below the true median is binomial: 1.96 of its deviations to each side.
  const double middle = static_cast<double>(n) / 2;
  const double reach = 1.96 * std::sqrt(static_cast<double>(n)) / 2;
  const double low = std::max(0.0, std::floor(middle - reach) - 1);
  const double high = std::min(static_cast<double>(n - 1), std::ceil(middle + reach));
  m.low_s = sorted[static_cast<size_t>(low)];
  m.high_s = sorted[static_cast<size_t>(high)];
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

}  // namespace tenon::measure
