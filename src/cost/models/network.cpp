// SPDX-License-Identifier: Apache-2.0
#include "cost/models/network.h"

#include <algorithm>
#include <cmath>

#include "support/check.h"

namespace tenon::cost {

void check_trained(int32_t failed, std::span<const float> weights) {
  const bool finite =
      std::all_of(weights.begin(), weights.end(), [](float w) { return std::isfinite(w); });
  if (failed != 0 || !finite) throw UserError("the plug-in tenon-torch failed to train a network");
}

}  // namespace tenon::cost
