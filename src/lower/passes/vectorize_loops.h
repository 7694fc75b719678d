// SPDX-License-Identifier: Apache-2.0
// Replaces each vectorised loop by its body on vectors. A guard becomes a mask; a sum over the lanes of one
// element becomes a VectorReduce.
//   vectorized j in 0..16 { C[j] = A[j] }   =>   C[ramp(0, 1, 16)] = A[ramp(0, 1, 16)]
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt vectorize_loops(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
