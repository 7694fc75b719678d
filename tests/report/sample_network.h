// SPDX-License-Identifier: Apache-2.0
// A network as a compiler could have made it: residual blocks, several layouts and algorithms, a conversion now and then.
#pragma once

#include "report/network/network.h"

namespace tenon::report {

Network sample_network(size_t steps);

}  // namespace tenon::report
