// SPDX-License-Identifier: Apache-2.0
// All searches of all arms, dealt out to lanes; then the best programs of each task again,
// interleaved, so that the curves can be put on one scale.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/search/quality/worker.h"

namespace tenon::quality {

struct ContestOptions {
  std::vector<std::string> arms, tasks;
  int64_t seeds = 3, first_seed = 1;
  int64_t trials = 256;
  int lanes = 0;          // 0: one for each two cores
  double deadline_s = 0;  // for all of it; 0: none
  double finals_s = 4;    // of each task
  bool quiet = false;
  WorkerOptions worker;
};

// A document of the schema tenon.quality/1. Searches that the deadline cut short are left out of it
// and counted; so are those that failed, with the reason.
nlohmann::json contest(const ContestOptions& options, const std::string& program);

}  // namespace tenon::quality
