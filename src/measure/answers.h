// SPDX-License-Identifier: Apache-2.0
// What the answers of tenon-build and tenon-run mean: whatever they say, or do instead, is an outcome.
#pragma once

#include <string>
#include <vector>

#include "measure/worker.h"
#include "task/record.h"

namespace tenon::measure {

struct Built {
  task::Outcome outcome = task::Outcome::kOk;
  std::string error;
  RunJob job;
  double seconds = 0;
};

struct Ran {
  task::Outcome outcome = task::Outcome::kOk;
  std::string error;
  std::vector<double> seconds;
};

Built read_build(const Answer& a, double limit_s);
Ran read_run(const Answer& a, double limit_s);

std::string one_line(std::string text);

}  // namespace tenon::measure
