// SPDX-License-Identifier: Apache-2.0
// Access analysis: for each read of an op, its affine map, strides and which axes it is reused over.
//
//   conv: read X[n, c, y*2 + r, x*2 + s]: row for dim 2 = {y:2, r:1}, reused over the output channel k.
#pragma once

#include <vector>

#include "arith/linear.h"
#include "te/dag.h"

namespace tenon::te {

struct Access {
  Tensor tensor;
  std::vector<ir::Expr> indices;
  bool affine = false;             // every index is a linear form over the op's axes
  std::vector<arith::Linear> map;  // per dimension; meaningful when affine
  std::vector<int64_t>
      strides;               // per axis (axes then reduce_axes): elements moved in memory per step
  std::vector<bool> reused;  // per axis: extent > 1 and the access does not depend on it
};

// The distinct reads of `op` in order of appearance, those inside index expressions included. Strides of
// a read that is not affine count only the axes that appear as plain terms.
std::vector<Access> accesses(const ComputeOp& op);

// Ansor's predicates (section 4.1 of the paper), by their exact definitions. A read is simple if each
// index is a constant or an output axis plus a constant.

// Needs multi-level tiling: at least two tensors, or one in a reduction, are read without using some
// output axis of extent over 1.
bool has_data_reuse(const ComputeOp& op);
// No reduction, no select, no exp, and every read simple with axes in order, none twice; or no read.
bool is_strictly_inlinable(const ComputeOp& op);
// Equal shapes, and every read of `producer` by `consumer` is simple and uses each axis once, in order.
bool is_elementwise_match(const ComputeOp& producer, const ComputeOp& consumer);
// The same along the chain of single readers from `op` to `target`.
bool is_elementwise_match(const ComputeDag& dag, const ComputeOp& op, const ComputeOp& target);
// More parallelism in the reduction than in the output.
bool needs_rfactor(const ComputeOp& op, int cores);
// Leading axes of equal extent that every read passes straight through (axis plus a constant).
int common_outer_axes(const ComputeOp& producer, const ComputeOp& consumer);
// The smallest such number along any path from `op` to `target`; 0 if there is none.
int common_outer_axes(const ComputeDag& dag, const ComputeOp& op, const ComputeOp& target);

}  // namespace tenon::te
