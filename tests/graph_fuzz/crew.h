// SPDX-License-Identifier: Apache-2.0
// Cases judged in child processes: a crash or a hang is the verdict on one graph, and the run goes on.
#pragma once

#include <functional>
#include <optional>

#include "graph_fuzz/judge.h"
#include "support/worker.h"

namespace tenon::graph_fuzz {

struct Limits {
  int jobs = 1;
  int seconds = 60;  // for each graph
};

// Judges cases, by seed or from a folder, in a process that is replaced when it dies.
class Judge {
 public:
  Judge(int seconds, double special) : seconds_(seconds), special_(special) {}
  Verdict seed(uint64_t seed);
  Verdict folder(const std::string& folder, uint64_t route_seed);

 private:
  Verdict ask(const std::string& line);

  int seconds_;
  double special_;
  std::optional<Worker> worker_;
};

// Verdicts of the seeds first, first + 1, ... as they come, by one thread at a time, until `take` says stop.
void judge_seeds(uint64_t first, int64_t runs, const Limits& limits, double special,
                 const std::function<bool(uint64_t seed, const Verdict&)>& take);

// What a child does: returns the exit code of the process.
int serve(double special);

}  // namespace tenon::graph_fuzz
