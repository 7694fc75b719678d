// SPDX-License-Identifier: Apache-2.0
// What can be said about the values of a dag whose inputs come from random_inputs: how large they are, and
// whether every allowed order of summation and every contraction gives the same bits.
//
//   C[i] = sum(k: 9) A[i, k] * B[k]   with |A|, |B| <= 2 whole: |C| <= 36, exact
//   D[i] = C[i] / 3.0                 |D| <= 36, not exact
#pragma once

#include <unordered_map>

#include "te/dag.h"

namespace tenon::fuzz {

inline constexpr int64_t kFloatInput = 2;    // floats are whole numbers in [-2, 2]
inline constexpr int64_t kLowestInput = -4;  // integers in [-4, 6], unsigned ones in [0, 6]
inline constexpr int64_t kHighestInput = 6;

struct Facts {
  bool exact = true;  // floats: a multiple of 2^grain and small enough that no sum rounds
  double bound = 0;   // of the absolute value; a guess where a function could not be bounded
  int grain = 0;
  bool finite = true;  // false: padded with -inf for a maximum
};

using FactMap = std::unordered_map<const ir::BufferNode*, Facts>;

Facts input_facts(ir::DType t);
Facts op_facts(const te::ComputeOp& op, const FactMap& known);
FactMap all_facts(const te::ComputeDag& dag);

// An op behind `t` compares its values or makes whole numbers of them: the least rounding may decide.
bool is_tested(const te::ComputeDag& dag, const te::Tensor& t);

}  // namespace tenon::fuzz
