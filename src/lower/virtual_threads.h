// SPDX-License-Identifier: Apache-2.0
// Lets each thread do the work of its virtual threads: statements that tell them apart are repeated
// for each of them, as deep inside of loops as they stand, and all others are done once. What belongs
// to a virtual thread gets a dimension for it.
//
//   vthread v in 0..2 { local s; s = 0; for k { X.read = ..; s += X.read[v*8] }; C[v*8] = s }
//     =>  local s[2]; s[0] = 0; s[1] = 0
//         for k { X.read = ..; s[0] += X.read[0]; s[1] += X.read[8] }; C[0] = s[0]; C[8] = s[1]
//
// Elements of a thread lie apart then, which spares conflicts in shared memory. Virtual threads meet
// at barriers only, so that each may be ahead of the others between them.
#pragma once

#include "ir/ir.h"

namespace tenon::lower {

// No loop is bound to virtual threads afterwards; copies are unrolled loops.
ir::Stmt expand_virtual_threads(const ir::Stmt& s);

}  // namespace tenon::lower
