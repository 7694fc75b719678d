// SPDX-License-Identifier: Apache-2.0
// `tenon bench A --against B`: two artifacts of one model, turn by turn, on the same threads.
#pragma once

#include <string>

#include "tools/tenon/commands/bench/model.h"

namespace tenon::tools {

int bench_against(const ModelBenchOptions& options, const std::string& against,
                  const Console& console);

}  // namespace tenon::tools
