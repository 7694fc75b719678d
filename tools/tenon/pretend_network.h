// SPDX-License-Identifier: Apache-2.0
// Networks on the pretend device: their times are the sums of their steps', the same for the same seed.
#pragma once

#include <memory>

#include "measure/measure.h"
#include "measure/network_compare.h"
#include "tools/tenon/console.h"

namespace tenon::tools {

// `device` must outlive it.
std::unique_ptr<measure::NetworkTimer> pretend_network_timer(measure::Measurer& device,
                                                             const Console& console);

}  // namespace tenon::tools
