// SPDX-License-Identifier: Apache-2.0
// The time of each step of a model, measured from inside while it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "artifact/loaded_session.h"

namespace tenon::measure {

struct StepTimes {
  std::vector<std::vector<double>> seconds;  // per step: one per run
  std::vector<double> starts_s;              // per step, of the last run, from its begin
  std::vector<double> run_s;                 // whole runs, without the clock's readings

  double median_s(size_t step) const;
};

StepTimes measure_steps(artifact::LoadedSession& session, int64_t runs);

}  // namespace tenon::measure
