// SPDX-License-Identifier: Apache-2.0
// Dilated convolutions as undilated ones, for `variant`: every so many positions apart belong together and are an image
// of their own (C.x), so that taps lie side by side (C.u), as other algorithms want them.
//
//   C[n, k, x] = sum(c, r: 3) X[n, c, x + r*2] * W[k, c, r]
//     =>  C.x[n*2 + f, c, q] = X[n, c, q*2 + f];   C.u[n, k, q] = sum(c, r: 3) C.x[n, c, q + r] * W[k, c, r];
//         C = C.u[n*2 + x % 2, k, x // 2]
#pragma once

#include "schedule/algorithms/variant_stages.h"

namespace tenon::schedule {

// n k p.. = sum over c, taps.. of x[n, c, p + tap*phases..] * w[k, c, taps..]
struct Dilated : Operands {
  std::vector<int64_t> phases;  // of each position; 1: as it is
  int64_t images = 1;           // that one becomes
  double elements = 0;          // of the largest new tensor
};
// Nothing where no dimension of stride 1 is dilated.
std::optional<Dilated> find_dilated(const te::ComputeOp& op);

// The stage is of that form.
void compute_by_phases(State& s, StageId stage);

}  // namespace tenon::schedule
