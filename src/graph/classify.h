// SPDX-License-Identifier: Apache-2.0
// What kind of work a dag is, as far as fusion needs to know.
#pragma once

#include "te/dag.h"

namespace tenon::graph {

enum class Kind : uint8_t {
  kMap,   // element-wise with broadcasting: every read is at the op's own axes
  kMove,  // no reduction, but elements change places: transpose, slice, concat, gather, pad
  kRows,  // reductions over trailing dimensions and element-wise work around them: softmax, layer norm
  kReduce,  // other reductions without reuse: pooling, sums over middle dimensions
  kHeavy,   // a reduction whose operands are reused: convolution, matrix multiplication
  kOther,   // several outputs
};

Kind classify(const te::ComputeDag& dag);

}  // namespace tenon::graph
