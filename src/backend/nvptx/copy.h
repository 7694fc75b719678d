// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that go on while the thread does: what is stored is what was
// loaded, or zero where a condition does not hold. They end at the next barrier.
//
//   A.read[i] = select(c, A[j], 0)   =>   cp.async A.read[i], A[j], 4 bytes, c ? 4 : 0 of them
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"

namespace tenon::backend::nvptx {

struct Copy {
  const ir::Load* from = nullptr;
  std::vector<ir::Expr> conditions;  // all of them must hold
};
// Nothing unless the statement stores to shared memory what it loads from global memory.
std::optional<Copy> as_copy(const ir::Store& n);

bool copies_to_shared(const ir::Stmt& s);

}  // namespace tenon::backend::nvptx
