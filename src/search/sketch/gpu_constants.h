// SPDX-License-Identifier: Apache-2.0
// Constants that a tiled sum reads are stored as its blocks fetch them: what the sums run along
// outside, the result's axes inside, and dimensions that one loop runs through as one.
//
//   Y[k, p] = sum(i) X[i, p] * W[k, i % 64, i // 192, i // 64 % 3]   =>  W stored [i, k]
#pragma once

#include "space/builder.h"

namespace tenon::search {

void store_constants(space::Builder& b, space::StageRef sum);

// Every operand of the sum is read at another place for each value of this axis.
bool is_batch_axis(const te::ComputeOp& sum, size_t axis);

}  // namespace tenon::search
