// SPDX-License-Identifier: Apache-2.0
// One element of what a dag computes, by the definition. Only what it depends on is computed, so that an element of a
// large product takes no longer than its own sum.
//
//   C[i, j] = sum(k) A[i, k] * B[k, j]      element (3, 5) reads row 3 of A and column 5 of B
#pragma once

#include <optional>
#include <span>

#include "te/dag.h"

namespace tenon::te {

// Element `index` of output number `output`; nothing if more than `most_work` elements and terms of sums would have to
// be computed.
std::optional<double> evaluate_element(const ComputeDag& dag, const std::vector<ir::Array>& inputs,
                                       size_t output, std::span<const int64_t> index,
                                       double most_work);

}  // namespace tenon::te
