// SPDX-License-Identifier: Apache-2.0
// Recognises work on rows in front of a matrix product, as in layer norm and the dense layer behind it.
//
//   S[b.., i]    = sum(k) X[b.., i, k], ..       reductions over the last dimension, row by row
//   P[b.., i, k] = ..                            and element-wise work around them; only the product reads P
//   O[b.., i, j] = sum(k) P[b.., i, k] * W       W is constant
//
// So P need exist for a few rows at a time only. Says nothing about whether that pays.
#pragma once

#include <optional>
#include <vector>

#include "te/access.h"

namespace tenon::te {

struct RowOperand {
  std::vector<OpRef> rows;             // in front of O, in order; the last is P
  const ComputeOp* product = nullptr;  // O
  Tensor w;
};

std::optional<RowOperand> find_row_operand(const ComputeDag& dag);

}  // namespace tenon::te
