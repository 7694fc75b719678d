// SPDX-License-Identifier: Apache-2.0
// Random programs for GPUs: kernels over blocks and threads, stages in shared memory that threads fetch or compute
// together, register tiles, and reductions shared between threads or blocks. Most are legal, some are not.
//
//   Drawn d = gpu_trace(State(dag, gpu), rng);
#pragma once

#include "fuzz/random_trace.h"

namespace tenon::fuzz {

Drawn gpu_trace(const schedule::State& initial, Rng& rng, Counts* counts = nullptr);

}  // namespace tenon::fuzz
