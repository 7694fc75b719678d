// SPDX-License-Identifier: Apache-2.0
// The graph of a compiled network for `tenon explain --show layouts` and `tenon report`.
#pragma once

#include <string>

#include "report/network/network.h"
#include "tools/tenon/console.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

// Of an artifact on disk, for whatever machine; nothing is loaded. Throws UserError.
report::Network read_network(const std::string& path);
// A model is compiled on the way; an artifact is read.
report::Network load_network(const ModelOptions& options, const Console& console);
// The same with the time of every step, measured on this machine; 0 threads: one per core.
report::Network measure_network(const ModelOptions& options, int threads, const Console& console);

}  // namespace tenon::tools
