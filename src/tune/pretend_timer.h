// SPDX-License-Identifier: Apache-2.0
// Networks on the pretend device: their times are the sums of their steps', the same for the same
// seed.
#pragma once

#include <memory>

#include "measure/measure.h"
#include "measure/network_compare.h"

namespace tenon::tune {

// `device` must outlive it.
std::unique_ptr<measure::NetworkTimer> pretend_timer(measure::Measurer& device);

}  // namespace tenon::tune
