// SPDX-License-Identifier: Apache-2.0
// `tenon bench --streams`: several contexts of a model at once, each on a thread of its own, and which number of them
// gives the most runs a second.
#pragma once

#include "tools/tenon/commands/bench/model.h"

namespace tenon::tools {

struct StreamOptions {
  std::string streams;      // "1,2"; empty: not asked for
  bool throughput = false;  // try what fits the cores, and say what is best
};

int bench_streams(const ModelBenchOptions& options, const StreamOptions& streams,
                  const Console& console);

}  // namespace tenon::tools
