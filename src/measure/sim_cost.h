// SPDX-License-Identifier: Apache-2.0
// The time of a program on the pretend device, by counting: instructions of the innermost tile (vectors, loads that the
// tile does not share, accumulators in memory or in registers, the latency of short chains), lines moved between the
// levels of the caches by the loops whose data no longer fit, and how evenly parallel loops fill the threads. A rough
// model, but one with the shape of a real machine: it ranks programs of a matrix product and of convolutions much as an
// x86 core does.
#pragma once

#include "schedule/bounds.h"

namespace tenon::measure {

double pretend_seconds(const schedule::State& s, const schedule::Bounds& bounds, int threads);

}  // namespace tenon::measure
