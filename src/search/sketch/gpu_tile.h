// SPDX-License-Identifier: Apache-2.0
// Ansor's structure for GPUs, SSSRRSRS: blocks, virtual threads and threads share out the result; each
// thread sums up a tile in registers, in steps of the sums for which all threads of the block fetch
// what they read into shared memory.
//
//   C[i, j] = sum(k) A[i, k] * B[k, j]
//     =>  i.0@j.0 block_x, i.1 and j.1 vthread, i.2@j.2 thread_x, i.3 j.3
//         C.cache at the threads: k.0, k.1, i.0 j.0, k.2, i.1 j.1;  A.read and B.read shared at k.0
#pragma once

#include <span>

#include "space/builder.h"

namespace tenon::search {

// Cuts `out`, which copies or finishes `sum` element by element. Along `outer` leading axes there are
// blocks only. Operands that are `kept` are computed elsewhere.
void write_tile(space::Builder& b, space::StageRef out, space::StageRef sum, size_t outer,
                std::span<const schedule::StageId> kept);

}  // namespace tenon::search
