// SPDX-License-Identifier: Apache-2.0
// Sums that the threads of a block share: each adds up a part, a few of them what all have found, and
// one what these have, in a fixed order.
//
//   C[i] = sum(k) A[i, k]  =>  C.rf[i, t] = sum(k.0) A[i, k.0*128 + t] by thread t;
//                              C.rf.2[i, u] = sum(t.0) C.rf[i, t.0*16 + u]; C[i] = sum(u) C.rf.2[i, u]
#pragma once

#include <span>

#include "space/builder.h"

namespace tenon::search {

// Binds `out`, which copies or finishes `sum` element by element.
void write_share(space::Builder& b, space::StageRef out, space::StageRef sum);

// Binds `out`, of whose leading `rows` axes each block has one value; the reductions along them are
// computed by its threads. In the order of computation.
void write_rows(space::Builder& b, space::StageRef out, std::span<const space::StageRef> sums,
                size_t rows);

}  // namespace tenon::search
