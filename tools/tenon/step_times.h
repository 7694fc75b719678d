// SPDX-License-Identifier: Apache-2.0
// The time of each step of a model, measured from inside while it runs.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/loaded_session.h"

namespace tenon::tools {

struct StepTimes {
  std::vector<std::vector<double>> seconds;  // per step: one per run
  std::vector<double> starts_s;              // per step, of the last run, from its begin
  std::vector<double> run_s;                 // whole runs, without the clock's readings

  double median_s(size_t step) const;
};

StepTimes measure_steps(LoadedSession& session, int64_t runs);

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
std::string chrome_trace(const artifact::Model& model, const StepTimes& times);

}  // namespace tenon::tools
