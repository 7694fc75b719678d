// SPDX-License-Identifier: Apache-2.0
// Recognises attention: two products with work on rows between them, as in softmax(Q K^T) V.
//
//   Q, K, V: inputs, or moved from inputs: a transpose, a slice
//   S[b.., i, j] = sum(k) Q * K                  scores; i is the row
//   P[b.., i, j] = ..                            element-wise work and reductions over j, row by row
//   O[b.., i, d] = sum(j) P[b.., i, j] * V
//   Y            = O with its axes in another order, and element-wise work on it
//
// So a few rows of S are all that need exist at a time. Says nothing about whether that pays.
#pragma once

#include <optional>
#include <vector>

#include "te/access.h"

namespace tenon::te {

struct Attention {
  static constexpr size_t kNone = static_cast<size_t>(-1);

  std::vector<const ComputeOp*> moves;  // in front of S and O: each reads an input, one op reads it
  const ComputeOp* scores = nullptr;
  std::vector<const ComputeOp*> rows;   // between S and O in order; the last is P
  const ComputeOp* result = nullptr;    // O
  std::vector<const ComputeOp*> after;  // O's readers up to the final op, which is left out
  const ComputeOp* final = nullptr;     // Y; may be O itself
  Access q, k;                          // of S: k depends on j
  Access v;                             // of O
  size_t k_dim = 0;                     // of k's tensor: where its index is j and nothing else
  size_t k_sum = 0;  // of k's tensor: the one whose index depends on the sum's axis
  // Per axis of O: the axis of the final op that it is; kNone where its extent is 1.
  std::vector<size_t> place;

  size_t row_axis() const { return scores->axes.size() - 2; }
  bool is_moved(const Tensor& t) const;
};

std::optional<Attention> find_attention(const ComputeDag& dag);

// The dag with moves that only moves read written into these.
ComputeDag with_single_moves(const ComputeDag& dag);

}  // namespace tenon::te
