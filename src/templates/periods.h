// SPDX-License-Identifier: Apache-2.0
// Indices that are quotients, as in resizing: several vectors side by side read as many places again
// and again, only further on, where one vector alone would read others each time.
//
//   X[x // 3] in vectors of 16 columns: 3 of them, which read 0 0 0 1 .. 5, 5 5 6 .. 10, 10 11 .. 15
#pragma once

#include "te/dag.h"

namespace tenon::templates {

// So many vectors of v elements along the last axis of `op` make a period, or are all there are; 1
// if one does, or if no few ones do.
int64_t vectors_of_period(const te::ComputeOp& op, int64_t v);

}  // namespace tenon::templates
