// SPDX-License-Identifier: Apache-2.0
// Convolutions as products of matrices, for `variant`: what each sum reads of the input is copied side by side (C.p), so
// that sums walk through memory, and windows that overlap are stored once for each position.
//
//   C[n, k, y, x] = sum(c, r, s) X[n, c, y*2 + r, x*2 + s] * W[k, c, r, s]
//     =>  C.p[n, y, x, c, r, s] = X[n, c, y*2 + r, x*2 + s];   C = sum(c, r, s) C.p[n, y, x, c, r, s] * W[k, c, r, s]
#pragma once

#include "schedule/algorithms/variant_stages.h"

namespace tenon::schedule {

struct Patches : Operands {
  std::vector<size_t> axes, reduce;  // that the input depends on
  double elements = 1;               // of C.p
};
// Nothing unless a constant is multiplied with an input whose windows are more than a copy of it.
std::optional<Patches> find_patches(const State& s, const te::ComputeOp& op);

// The stage is of that form.
void compute_by_im2col(State& s, StageId stage);

}  // namespace tenon::schedule
