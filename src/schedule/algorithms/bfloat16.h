// SPDX-License-Identifier: Apache-2.0
// Sums of products of numbers rounded to bfloat16, for `variant`: half the bytes, and on some processors two products at
// once (tensorize). The input is rounded where it is copied (C.h), weights when the program is compiled.
//
//   C[i, j] = sum(k) X[i, k] * W[k, j]
//     =>  C.h = bf16(X);   C = sum(k) f32(C.h[i, k]) * f32(W[k, j])
#pragma once

#include "schedule/algorithms/variant_stages.h"

namespace tenon::schedule {

// w is a constant of `s`, x is not.
std::optional<Operands> find_narrowable(const State& s, const te::ComputeOp& op);

// The stage is of that form.
void compute_in_bfloat16(State& s, StageId stage);

}  // namespace tenon::schedule
