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
  bool affine = false;                       // every index is a linear form over the op's axes
  std::vector<arith::Linear> map;            // per dimension; meaningful when affine
  std::vector<int64_t> strides;              // per axis (axes then reduce_axes): elements moved in memory per step
  std::vector<bool> reused;                  // per axis: extent > 1 and the access does not depend on it
};

std::vector<Access> accesses(const ComputeOp& op);

// Ansor's predicates (section 4.1 of the paper), by their exact definitions.
bool has_data_reuse(const ComputeOp& op);        // needs multi-level tiling
bool is_strictly_inlinable(const ComputeOp& op);
bool is_elementwise_match(const ComputeOp& producer, const ComputeOp& consumer);
bool needs_rfactor(const ComputeOp& op, int cores);
int common_outer_axes(const ComputeOp& producer, const ComputeOp& consumer);

}  // namespace tenon::te
