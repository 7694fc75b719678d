// SPDX-License-Identifier: Apache-2.0
// How algorithms round, measured: each takes a few sums of the true length over random data in the arithmetic that
// kernels use, and compares them with the same sums in float64. A millisecond or so each, the same on every machine.
//
//   winograd_error(kWinograd4, 2, 512)    512 channels, tiles of 4 x 4: {6e-06, 1e-06}
#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/algorithms/algorithms.h"

namespace tenon::plan {

// The largest error over the largest value, with inputs of variance 1 and weights that keep it (He et al. 2015).
struct LayerError {
  double relative = 0;  // of the algorithm
  double direct = 0;    // of products added one by one in float32, on the same data
};

// `depth` products in each sum.
LayerError direct_error(int64_t depth);
// Filters of 3 taps along `dims` dimensions (1 or 2), over so many channels, further taps among them.
LayerError winograd_error(schedule::Algorithm a, size_t dims, int64_t channels);
LayerError strassen_error(int64_t depth);
LayerError bfloat16_error(int64_t depth);

}  // namespace tenon::plan
