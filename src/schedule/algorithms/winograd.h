// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's algorithms, for `variant`: tiles of the input transformed (C.v1, C.v), a matrix product per
// point of a tile (C.m), tiles of the output transformed (C.y1, C.y). For GPUs, tiles of the input as they are (C.d)
// are a stage of their own.
#pragma once

#include "schedule/algorithms/variant_stages.h"

namespace tenon::schedule {

// n k o.. p.. = sum over c, taps.. of x[n, c, o's.., p * stride + tap..] * w[k, c, taps of o.., taps of p..]
struct TapsForm : Operands {
  size_t others = 0;  // dimensions o: any index
  size_t dims = 0;    // dimensions p: 1 or 2 at the end, of 3 taps side by side
};
std::optional<TapsForm> find_taps(const te::ComputeOp& op, int64_t stride = 1);

// Elements of the largest new tensor.
double winograd_elements(const te::ComputeOp& op, const TapsForm& form, Algorithm algorithm);
// The stage is of that form, and its weights are constant.
void compute_by_winograd(State& s, StageId stage, Algorithm algorithm);

}  // namespace tenon::schedule
