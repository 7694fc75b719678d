// SPDX-License-Identifier: Apache-2.0
// How often a kernel is run by a device without a clock of its own, and how long that took.
#pragma once

#include <functional>
#include <vector>

#include "measure/run/core_probe.h"
#include "measure/run/device.h"

namespace tenon::run {

// Seconds of one call, per repetition: after a warm-up, until the median is known well or min_run_s are spent. Cold:
// `flush` before each call. Warm: many calls of a short kernel make one repetition. Repetitions that were disturbed
// count only where all were.
std::vector<double> repeat(const std::function<void()>& kernel, const std::function<void()>& flush,
                           const TimingRules& rules, CoreProbe& probe);

// There are enough repetitions, and they agree.
bool well_known(std::vector<double> seconds);
// Not one repetition came near the best that is known: more of them would change nothing.
bool clearly_slower(const std::vector<double>& seconds, const TimingRules& rules);

}  // namespace tenon::run
