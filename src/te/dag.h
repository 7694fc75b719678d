// SPDX-License-Identifier: Apache-2.0
// Tensor expressions: what is to be computed, without how. A ComputeOp defines each element of one
// tensor; a ComputeDag is a list of them in an order where every op reads only inputs and earlier ops.
//
//   C[i, j] = sum over k of A[i, k] * B[k, j]
//     axes (i, j), reduce_axes (k), combiner kAdd, body A[i,k] * B[k,j]
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arith/interval.h"
#include "ir/build.h"
#include "ir/interp.h"
#include "ir/ir.h"

namespace tenon::te {

using Tensor = ir::Buffer;  // global scope, row-major; an op's output or an input

struct Axis {
  ir::Var var;
  int64_t extent = 1;  // the variable runs over [0, extent)
};

// output[axes] = body, or the reduction of body over reduce_axes starting from the combiner's identity.
struct ComputeOp {
  Tensor output;
  std::vector<Axis> axes;                // one per output dimension, in order
  std::vector<Axis> reduce_axes;         // empty: no reduction
  std::optional<ir::BinaryOp> combiner;  // ir::is_combiner
  ir::Expr body;                         // reads tensors by ir::Load over axes and reduce_axes

  const std::string& name() const { return output.name(); }
  bool is_reduction() const { return combiner.has_value(); }
  arith::Ranges ranges() const;  // of all axes
};
using OpRef = std::shared_ptr<const ComputeOp>;

struct Input {
  Tensor tensor;
  bool constant = false;  // known at compile time: a weight; its layout is free
};

// Limits: rank at most 12, extents 1 .. 2^31, at most 1000 ops, elements of a tensor below 2^40.
struct ComputeDag {
  std::vector<Input> inputs;
  std::vector<OpRef> ops;       // topological order
  std::vector<Tensor> outputs;  // each the output of an op
  std::string name = "kernel";

  const ComputeOp* producer(const Tensor& t) const;  // null for an input
  std::vector<const ComputeOp*> readers(const Tensor& t) const;
  // Checks order, types, limits, distinct names, that every op is used, and that every read can be
  // shown to stay inside its tensor (see bounds.h); throws UserError (no place).
  void validate() const;
  // Stable between processes: shapes, types, bodies; not names.
  uint64_t structural_hash() const;
};

// The reference: evaluates every op by its definition, in double loops over axes. Inputs in order;
// the result has one array per output.
std::vector<ir::Array> evaluate(const ComputeDag& dag, const std::vector<ir::Array>& inputs);

// The same as loop IR: each op's definition in order, intermediate tensors allocated around.
ir::Function reference_function(const ComputeDag& dag);

// Arithmetic operations of the whole dag: one per add, mul, min, max, div, compare or call in the type of
// the output, a reduction's combiner included; index arithmetic not counted.
double flops(const ComputeDag& dag);
double flops(const ComputeOp& op);

}  // namespace tenon::te
