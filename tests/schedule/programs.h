// SPDX-License-Identifier: Apache-2.0
// Small dags with odd extents that the tests of schedules share.
#pragma once

namespace tenon::schedule {

// A GPU with 1024 threads in a block and 99 KiB of shared memory.
inline constexpr const char* kGpu = "cuda simt";

// A product and an element-wise op behind it: C is read in place.
inline constexpr const char* kMatmul = R"(
input A: f32[7, 5]
const B: f32[5, 11]
C[i: 7, j: 11] = sum(k: 5) A[i, k] * B[k, j]
D[i: 7, j: 11] = max(C[i, j], 0.0)
output D
)";

// Three element-wise ops in a row.
inline constexpr const char* kChain = R"(
input A: f32[5, 13]
B[i: 5, j: 13] = A[i, j] + 1.0
C[i: 5, j: 13] = B[i, j] * 2.0
D[i: 5, j: 13] = C[i, j] - 3.0
output D
)";

// Padding and a convolution with stride 2: P is read with a halo.
inline constexpr const char* kConv = R"(
input X: f32[3, 9]
const W: f32[4, 3, 3]
P[c: 3, y: 11] = select(1 <= y and y < 10, X[c, y - 1], 0.0)
Y[k: 4, x: 5] = sum(c: 3, r: 3) P[c, x*2 + r] * W[k, c, r]
Z[k: 4, x: 5] = Y[k, x] + 0.5
output Z
)";

// Filters of three taps along one dimension, and along the last two of three.
inline constexpr const char* kFilters = R"(
input X: f32[2, 3, 9]
input Z: f32[1, 2, 4, 6, 7]
const W: f32[4, 3, 3]
const U: f32[3, 2, 2, 3, 3]
C[n: 2, k: 4, x: 7] = sum(c: 3, r: 3) X[n, c, x + r] * W[k, c, r]
D[n: 1, k: 3, z: 3, y: 4, x: 5] = sum(c: 2, q: 2, r: 3, s: 3) Z[n, c, z + q, y + r, x + s] * U[k, c, q, r, s]
output C
output D
)";

// Windows two positions apart, and taps two positions apart.
inline constexpr const char* kWindows = R"(
input X: f32[1, 3, 9, 12]
const W: f32[4, 3, 3, 3]
const U: f32[2, 3, 3, 2]
C[n: 1, k: 4, y: 4, x: 5] = sum(c: 3, r: 3, s: 3) X[n, c, y*2 + r, x*2 + s] * W[k, c, r, s]
D[n: 1, k: 2, y: 5, x: 9] = sum(c: 3, r: 3, s: 2) X[n, c, y + r*2, x + s*3] * U[k, c, r, s]
output C
output D
)";

// Products of odd extents: weights either way round, rows that are two axes, and a pointwise convolution with stride 2.
inline constexpr const char* kProducts = R"(
input X: f32[3, 5, 7]
input Z: f32[2, 5, 7, 5]
const W: f32[9, 7]
const U: f32[4, 5, 1, 1]
const V: f32[5, 8]
C[b: 3, i: 5, j: 9] = sum(k: 7) X[b, i, k] * W[j, k]
D[n: 2, k: 4, y: 4, x: 3] = sum(c: 5, r: 1, s: 1) Z[n, c, y*2 + r, x*2 + s] * U[k, c, r, s]
E[j: 8, i: 3] = sum(k: 5) V[k, j] * X[i, k, 0]
output C
output D
output E
)";

// One element out of two reductions.
inline constexpr const char* kNorm = R"(
input A: f32[3, 17]
R[i: 3] = sum(k: 17) A[i, k] * A[i, k]
S[] = max(i: 3) R[i]
output S
)";

// Extents of one everywhere.
inline constexpr const char* kOnes = R"(
input A: f32[1, 1]
B[i: 1, j: 1] = A[i, j] + 1.0
C[i: 1, j: 1] = sum(k: 1) B[i, k] * 2.0
output C
)";

// Rows picked by an index that is read.
inline constexpr const char* kGather = R"(
input A: f32[7, 5]
input I: i64[6]
B[i: 7, j: 5] = A[i, j] * 2.0
C[n: 6, j: 5] = B[max(0, min(I[n], 6)), j] + 1.0
output C
)";

// A product of bytes, ten of them: the last group of four is short.
inline constexpr const char* kBytes = R"(
input A: u8[3, 10]
const B: i8[10, 11]
C[i: 3, j: 11] = sum(k: 10) i32(A[i, k]) * i32(B[k, j])
D[i: 3, j: 11] = max(C[i, j], i32(0))
output D
)";
// B in fours along k, and the loops as tensorize wants them.
inline constexpr const char* kPackedBytes = R"(
layout_split B 0 [3, 4]
layout_reorder B [0, 2, 1]
split C k [4]
reorder C [i, k.0, j, k.1]
)";

// A bias beside weights, for store_at.
inline constexpr const char* kDense = R"(
input X: f32[3, 5]
const W: f32[5, 6]
const b: f32[6]
Y[i: 3, j: 6] = sum(k: 5) X[i, k] * W[k, j]
Z[i: 3, j: 6] = Y[i, j] + b[j]
output Z
)";

}  // namespace tenon::schedule
