// SPDX-License-Identifier: Apache-2.0
// What times of steps are held against, and shown as.
#pragma once

#include <string>
#include <vector>

#include "measure/step_times.h"

namespace tenon::tools {

// What the machine can do at most: multiply-adds, and bytes by the level of memory where that much data lies.
struct Ceilings {
  double flops_per_s = 0;
  struct Level {
    double bytes = 0;  // data up to this size
    double bytes_per_s = 0;
  };
  std::vector<Level> levels;  // from small to large; the last holds for everything above

  // The time that neither arithmetic nor memory could undercut.
  double least_s(double flops, double bytes) const;
};
Ceilings measure_ceilings(int threads);

// For Perfetto and chrome://tracing.
std::string chrome_trace(const artifact::Model& model, const measure::StepTimes& times);

}  // namespace tenon::tools
