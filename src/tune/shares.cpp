// SPDX-License-Identifier: Apache-2.0
#include "tune/shares.h"

namespace tenon::tune {
Shares::Share Shares::of(double share) const {
  const int64_t all = parts_.options.tuner.trials;
  const auto left = static_cast<double>(all - parts_.log.measured());
  return {
      share * (ending_.rounds_end() - parts_.log.spent()),
      all > 0 ? std::clamp(share * static_cast<double>(all), 0.0, std::max(0.0, left)) : INFINITY};
}

int64_t Shares::trials_of_loops() const {
  const int64_t all = parts_.options.tuner.trials;
  if (all <= 0) return 0;
  const int64_t left = all - parts_.log.measured() - (kept_ ? kept_() : 0);
  return std::max<int64_t>(1, loops_.measured() + left);
}

}  // namespace tenon::tune
