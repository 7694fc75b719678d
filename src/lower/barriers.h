// SPDX-License-Identifier: Apache-2.0
// Puts a barrier wherever threads of a block would read shared memory before it is written, or write
// it before it was read. Barriers stand between statements that all threads reach. Each element of
// shared memory is written by one thread, always the same: between its stores, and a store and the
// element that it adds to, there is nothing to wait for.
//
//   for k { A.read[..] = A[..]; C += A.read[..] }
//     =>  for k { A.read[..] = A[..]; barrier; C += A.read[..]; barrier }
#pragma once

#include <set>

#include "ir/ir.h"

namespace tenon::lower {

// Buffers in `done` have all the barriers that they need.
ir::Stmt insert_barriers(const ir::Stmt& s, const std::set<const ir::BufferNode*>& done = {});

}  // namespace tenon::lower
