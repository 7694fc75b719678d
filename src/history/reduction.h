// SPDX-License-Identifier: Apache-2.0
// What a reduction is, found from how it reads its operands and not from names: which axes are rows, columns or shared,
// which reduced axes are summed and which slide.
//
//   Y[n,k,y,x] = sum(c,r,s) X[n,c,2*y+r,2*x+s] * W[k,c,r,s]
//     "conv2.f32", rows n, columns k, depth c, windows (y, kernel r, stride 2), (x, kernel s, stride 2)
#pragma once

#include <string>
#include <vector>

#include "te/dag.h"

namespace tenon::history {

struct Window {
  int64_t extent = 1;  // of the result
  int64_t kernel = 1, stride = 1, dilation = 1;
};

// Sizes are products over the axes of a role.
struct Reduction {
  std::string kind;     // "conv2.f32", "grouped-conv2.f32", "matmul2.f32", "pool2-max.f32", ..
  int64_t rows = 1;     // axes of the first operand alone
  int64_t columns = 1;  // of the second alone
  int64_t shared = 1;   // of both: a batch of products, or the channels of a depthwise convolution
  int64_t depth = 1;    // summed
  int64_t groups = 1;   // of channels that are read by their own outputs alone
  std::vector<Window> windows;
};

Reduction reduction_of(const te::ComputeDag& dag, const te::ComputeOp& op);

// The op that the work of a dag is: the reduction with most operations, else the op with most. There is an op.
const te::ComputeOp& anchor_of(const te::ComputeDag& dag);

}  // namespace tenon::history
