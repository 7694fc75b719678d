// SPDX-License-Identifier: Apache-2.0
// `tenon bench MODEL`: latency and throughput of a whole model.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/console.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

struct ModelBenchOptions {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::string threads;  // "1,2"; empty: one per core
  double warmup_ms = 200;
  double duration_s = 3;
  int64_t iterations = 10;
  std::string percentiles = "50,90,99";
  bool cold_cache = false;
};

int bench_model(const ModelBenchOptions& options, const Console& console);

}  // namespace tenon::tools
