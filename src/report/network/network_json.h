// SPDX-License-Identifier: Apache-2.0
// A network as data: what its text and its picture show.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/network/network.h"

namespace tenon::report {

// {"name", "target", "cost": {"measured", "threads", "run_s", "bytes_per_s"}, "conversions", "nodes": [...]}.
nlohmann::ordered_json network_json(const Network& n);

}  // namespace tenon::report
