// SPDX-License-Identifier: Apache-2.0
// Flat functions for GPUs as lowering writes them: loops bound to threads, shared memory, barriers.
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace tenon::backend {

// out[r, c] = a[r, c] * 2 + b[c] on a grid of 2 x 3 blocks of 8 x 4 threads; 6 x 20 elements, so that threads at
// both edges have nothing to do.
ir::Function scale_rows_gpu();

// Each thread moves `lanes` neighbours from a to out, of 256 * lanes elements; the first is `offset` further in a.
ir::Function copy_gpu(int lanes, int64_t offset, ir::DType t);

// Tiles of 16 x 16 (rows of 17 in shared memory) that are turned: out[c, r] = a[r, c], 48 x 32.
ir::Function transpose_gpu();

// out[row] = sum of a[row, 0..128) by a tree: 64 threads, then loops over fewer and fewer of the same threads.
ir::Function row_sum_gpu(int64_t rows);

// C[m,n] = A[k,m]^T * B[k,n]: blocks of 32 x 32, slices of 8, threads of 8 x 8 with a tile of 4 x 4 each.
// Shared memory is filled by vectors of four.
ir::Function matmul_gpu(int64_t m, int64_t n, int64_t k);

// A row of 3-point sums with zeros beyond both ends: loads with predicates, of one lane or of four.
ir::Function border_sum_gpu(int64_t n, int lanes);

// Five rows of `threads` threads, of which the last is left out: out[row, t] = t + the sum of a[row, 0..threads), which
// the threads of the row combine.
ir::Function combine_gpu(int64_t threads, ir::DType t);

// Two kernels: halves of a sum into the workspace, then both added.
ir::Function split_sum_gpu();

}  // namespace tenon::backend
