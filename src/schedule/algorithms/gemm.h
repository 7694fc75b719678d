// SPDX-License-Identifier: Apache-2.0
// Sums of products as one product of two matrices, for `variant`: the axes of the result that only
// one operand has become one side each, and the axes of the sum one axis. What the operands are read
// through (windows, transposes, padding) stands in stages of their own, which exist in pieces only
// where they are computed inside of the product.
//
//   C[n, k, y, x] = sum(c, r, s) X[n, c, y + r, x + s] * W[k, c, r, s]       64 channels
//     =>  C.y[n, i, p] = X[n, i % 64, p // 56 + i // 192, p % 56 + i // 64 % 3]
//         C.g[n, k, p] = sum(i) C.y[n, i, p] * W[k, i % 64, i // 192, i // 64 % 3]
//         C[n, k, y, x] = C.g[n, k, y * 56 + x]
//
// Taps of windows come before channels in the sum, so that a piece of it has one tap.
#pragma once

#include "schedule/algorithms/variant_stages.h"

namespace tenon::schedule {

struct GemmSide {
  const ir::Load* read = nullptr;
  bool constant = false;        // known at compile time, and each index is an axis or a constant
  size_t first = 0, count = 0;  // a run of axes of the result
  int64_t extent = 1;
  bool holds(size_t axis) const { return axis >= first && axis < first + count; }
};

struct Gemm {
  GemmSide slow, fast;        // fast: the side of the later axes
  std::vector<size_t> outer;  // axes of the result on no side
  int64_t outer_extent = 1;
  int64_t length = 1;          // of the sums
  std::vector<te::Axis> sums;  // their axes, outermost first
};
// Nothing unless each operand has an axis of its own.
std::optional<Gemm> find_gemm(const State& s, const te::ComputeOp& op);

double gemm_elements(const Gemm& g);  // of the largest new tensor, at most

// The stage is of that form. New stages: .g the product, .x the operand of the slow side, .y that of
// the fast one; constants are read as they are.
void compute_by_gemm(State& s, StageId stage);

}  // namespace tenon::schedule
