// SPDX-License-Identifier: Apache-2.0
// Proves that an op reads only inside its tensors. An index is inside if its interval over the axes says
// so, or if the conditions of the selects around the read do:
//
//   select(1 <= y and y < 9, X[y - 1], 0.0)       X has 8 elements: proved from the condition
//   X[min(max(i64(I[i]), 0), 7)]                  proved from the clamp
//   X[i64(I[i])]                                  refused: nothing bounds the value read
#pragma once

#include <optional>
#include <string>

#include "te/dag.h"

namespace tenon::te {

struct BoundsError {
  const ir::Load* load = nullptr;
  size_t dim = 0;
  std::string message;  // "dimension 1 of A is indexed from 0 to 8 but has extent 8"
  std::string hint;
};

// The first read that cannot be shown to stay inside, in order of appearance.
std::optional<BoundsError> check_bounds(const ComputeOp& op);

}  // namespace tenon::te
