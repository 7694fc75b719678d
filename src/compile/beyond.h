// SPDX-License-Identifier: Apache-2.0
// Sums over a dimension that is padded: what the inputs have to be beyond the size, so that padding adds nothing.
//
//   max(x), sum(exp(x - max))    x is -inf beyond the size, exp of it 0
//   sum(x * y)                   both are 0
#pragma once

#include <optional>
#include <vector>

#include "te/dag.h"

namespace tenon::compile {

// An axis of a tensor that is as long as the dimension.
struct OpenAxis {
  const ir::BufferNode* tensor = nullptr;
  size_t axis = 0;
};

struct InputBeyond {
  size_t input = 0, axis = 0;
  double value = 0;
};

// `sums` are the reduced axes as long as the dimension. As few inputs as will do; nothing if none do.
std::optional<std::vector<InputBeyond>> values_beyond(const te::ComputeDag& dag,
                                                      const std::vector<OpenAxis>& axes,
                                                      const std::vector<const ir::VarNode*>& sums);

}  // namespace tenon::compile
