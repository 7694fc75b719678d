// SPDX-License-Identifier: Apache-2.0
// Flat functions as lowering writes them for good schedules: register tiles, packed weights,
// vectors.
#pragma once

#include "ir/ir.h"

namespace tenon::backend {

// C[M,N] = A[M,K] * B with B packed as [N/(vectors*lanes)][K][vectors*lanes]; one register tile is
// `rows` times `vectors` vectors. Parallel over blocks of columns.
struct MatmulShape {
  int64_t m, n, k;
  int rows, vectors, lanes;
};
ir::Function matmul_kernel(const MatmulShape& s);

// 3x3 convolution, stride 1: input [ci][h+2][w+2][lanes], weights
// [ko][ci][3][3][lanes][vectors*lanes], output [ko*vectors][h][w][lanes], one register tile is
// `columns` times `vectors` vectors; ReLU at the end. Parallel over blocks of output channels.
struct ConvShape {
  int64_t ci, ko, h, w;  // blocks of input channels, tiles of output channels, output size
  int columns, vectors, lanes;
};
ir::Function conv3x3_kernel(const ConvShape& s);

// 3x3 depthwise convolution of [c][h+2][w+2][lanes] with [c][3][3][lanes]: weights in registers,
// rows of `columns` outputs unrolled.
ir::Function depthwise3x3_kernel(int64_t c, int64_t h, int64_t w, int columns, int lanes);

// out[i] = max(a[i], 0) + b[i] for n elements: whole vectors, then one masked vector for the rest.
ir::Function relu_add_kernel(int64_t n, int lanes, ir::DType t);

// Each row minus its maximum, divided by the sum of its absolute values: vector accumulators that
// are reduced at the end of the row.
ir::Function row_normalize_kernel(int64_t rows, int64_t vectors, int lanes);

// Sums of `group` products of narrow numbers.
struct DotCase {
  ir::DType a, b, sum;
  int group;
};
std::vector<DotCase> dot_cases();  // every intrinsic, in both orders
// out = acc + sums, for many numbers of lanes; `shared`: one group of A serves all lanes.
ir::Function dot_kernel(const DotCase& c, bool shared);
ir::Function one_dot_kernel(const DotCase& c, int lanes);  // A shared
ir::Function masked_dot_kernel(const DotCase& c);          // 37 sums in vectors of 16

}  // namespace tenon::backend
