// SPDX-License-Identifier: Apache-2.0
// Composing dags: one dag's ops as part of another.
#pragma once

#include <functional>
#include <span>

#include "te/ops.h"

namespace tenon::te {

// Appends copies of all ops of `dag` to `b`, reading `inputs` (of equal shapes and types) in place of the dag's
// own; `name` gives the name of each copied op. Axes are fresh. Returns the dag's outputs.
std::vector<Tensor> splice(Builder& b, const ComputeDag& dag, std::span<const Tensor> inputs,
                           const std::function<std::string(const ComputeOp&)>& name);

// The dag with every op that `pick` accepts written into its readers; reductions and outputs are never
// picked. Index expressions are simplified under the readers' ranges.
//   T[i,j] = A[j,i]; C[i,j] = sum_k T[i,k]*B[k,j]   ->   C[i,j] = sum_k A[k,i]*B[k,j]
ComputeDag inlined(const ComputeDag& dag, const std::function<bool(const ComputeOp&)>& pick);

}  // namespace tenon::te
