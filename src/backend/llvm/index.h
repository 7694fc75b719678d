// SPDX-License-Identifier: Apache-2.0
// What an index says about the memory it touches.
//
//   as_run(ramp(i, 1, 8) * 2 + 3)  ==  {base: i*2 + 3, stride: 2, lanes: 8}
#pragma once

#include <optional>

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

}  // namespace tenon::backend::llvm_cpu
