// SPDX-License-Identifier: Apache-2.0
// These functions tell what an index says about the memory it touches.
//
//   as_run(ramp(i, 1, 8) * 2 + 3)  ==  {base: i*2 + 3, stride: 2, lanes: 8}
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

// base, base + stride, base + 2*stride, ... ; a scalar is a run of one lane, a broadcast has stride
// 0.
struct Run {
  ir::Expr base;
  int64_t stride = 0;
  int lanes = 1;
};

// Nothing if the lanes are not evenly spaced by a constant.
std::optional<Run> as_run(const ir::Expr& index);

// base + offsets[i] in lane i.
//   as_pattern(broadcast(i, 6) + floor_mod(ramp(0, 1, 6), 3))  ==  {base: i, offsets: 0 1 2 0 1 2}
struct Pattern {
  ir::Expr base;
  std::vector<int64_t> offsets;
};

// Nothing if lanes differ by something that is not constant. Vectors only.
std::optional<Pattern> as_pattern(const ir::Expr& index);

}  // namespace tenon::backend::llvm_cpu
