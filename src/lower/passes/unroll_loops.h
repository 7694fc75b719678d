// SPDX-License-Identifier: Apache-2.0
// Replaces each unrolled loop by copies of its body.
//   unrolled i in 0..2 { A[i] = i }   =>   A[0] = 0; A[1] = 1
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt unroll_loops(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
