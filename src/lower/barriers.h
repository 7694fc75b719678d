// SPDX-License-Identifier: Apache-2.0
// Puts a barrier wherever threads of a block would read shared memory before it is written, or write
// it before it was read. Barriers stand between statements that all threads reach.
//
//   for k { A.read[..] = A[..]; C += A.read[..] }
//     =>  for k { A.read[..] = A[..]; barrier; C += A.read[..]; barrier }
#pragma once

#include "ir/ir.h"

namespace tenon::lower {

ir::Stmt insert_barriers(const ir::Stmt& s);

}  // namespace tenon::lower
