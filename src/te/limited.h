// SPDX-License-Identifier: Apache-2.0
// Products of which only so many are summed as is known at run time.
//
//   C[i, j] = sum(k: 512) select(k < limit[0], A[i, k], 0) * B[k, j]
//
// What lies beyond the limit is not read.
#pragma once

#include <string>
#include <vector>

#include "te/access.h"
#include "te/ops.h"

namespace tenon::te {

// As batch_matmul; `limit` has one int64.
Tensor limited_matmul(Builder& b, const std::string& name, const Tensor& a, const Tensor& w,
                      bool trans_a, bool trans_b, const Tensor& limit);

// A[i, k] of the select above; anything else as it is.
ir::Expr without_limit(const ir::Expr& e);
// The reads of an op but that of its limit.
std::vector<Access> factors(const ComputeOp& op);

}  // namespace tenon::te
