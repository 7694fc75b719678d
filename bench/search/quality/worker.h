// SPDX-License-Identifier: Apache-2.0
// A lane of the benchmark: a process of its own on cores of its own, which searches and takes final
// times as it is told, one JSON object per line in and out.
//
//   {"do":"search","arm":"random","task":"c6","seed":1,"trials":64,"left_s":300}
//   {"do":"finals","task":"c6","traces":["[..]"],"seconds":3}
#pragma once

#include <string>
#include <vector>

#include "bench/search/quality/search_run.h"

namespace tenon::quality {

struct WorkerOptions {
  std::vector<int> cpus;  // empty: any
  bool sim = false;
  int threads = 1;  // that programs run with
  size_t population = 0;
  int64_t round = 32;
  Given given;
  std::string build_tool, run_tool;
};

// Until standard input ends. Returns the exit code.
int serve(const WorkerOptions& options);

}  // namespace tenon::quality
