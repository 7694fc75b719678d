// SPDX-License-Identifier: Apache-2.0
// Replaces each vectorised loop by its body on vectors. A guard becomes a mask; a sum over the lanes of one
// element becomes a VectorReduce. Of two vectorised loops inside each other the inner one is a sum, whose terms
// become neighbouring lanes that are combined in groups.
//   vectorized j in 0..16 { C[j] = A[j] }   =>   C[ramp(0, 1, 16)] = A[ramp(0, 1, 16)]
//   vectorized j in 0..16 { vectorized k in 0..4 { C[j] = C[j] + A[j*4 + k] } }
//     =>   C[ramp(0, 1, 16)] = C[ramp(0, 1, 16)] + reduce_sum(A[ramp(0, 1, 64)], 16)
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt vectorize_loops(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
