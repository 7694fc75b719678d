// SPDX-License-Identifier: Apache-2.0
// `tenon bench --te`: is a scheduled tensor expression right, and how fast is it?
#pragma once

#include "tools/tenon/console.h"
#include "tools/tenon/program.h"

namespace tenon::tools {

struct TeBenchOptions {
  ProgramOptions program;
  int threads = 0;  // 0: the target's cores
  double duration_s = 1;
  uint64_t seed = 1;
  bool no_check = false;
};

int bench_te(const TeBenchOptions& options, const Console& console);

}  // namespace tenon::tools
