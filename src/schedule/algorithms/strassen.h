// SPDX-License-Identifier: Apache-2.0
// Products of matrices by Strassen's algorithm, for `variant`: sums of the first operand's quarters (C.v), seven
// products (C.m), the output's quarters (C.y).
#pragma once

#include "schedule/algorithms/variant_stages.h"

namespace tenon::schedule {

// C[outer.., rows.., column] = sum(k) x[.., k] * w[k, column], the axes in any order; reductions besides k have one step.
//   C[n, k, y, x] = sum(c, r: 1, s: 1) X[n, c, y + r, x + s] * W[k, c, r, s]     rows y and x, column k
struct Product : Operands {
  size_t column = 0;           // axis of the output that w has
  size_t first = 0, last = 0;  // rows: axes first .. last - 1, taken as one; all others are outer
  size_t k = 0;                // reduction axis
  size_t k_dim = 0, column_dim = 0;  // of w
  int64_t rows = 1;
};
// w is a constant of `s`. Nothing for other forms, and where there are no two rows, columns or steps.
std::optional<Product> find_product(const State& s, const te::ComputeOp& op);

// Elements of the largest new tensor.
double strassen_elements(const te::ComputeOp& op, const Product& p);
// The stage is of that form.
void compute_by_strassen(State& s, StageId stage);

}  // namespace tenon::schedule
