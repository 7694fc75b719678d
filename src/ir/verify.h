// SPDX-License-Identifier: Apache-2.0
// What each stage of lowering may contain. verify() throws InternalError naming the offence.
#pragma once

#include "ir/ir.h"

namespace tenon::ir {

enum class Dialect : uint8_t {
  kLoops,      // one index per dimension, all loop kinds, no vectors, no predicates
  kFlatLoops,  // kLoops with one index per access
  kVectors,    // kFlatLoops plus vector values and predicates; no kVectorized loop
  kFlat,       // kVectors without kUnrolled loops: what backends take
};

// Always: variables are bound before use and bound once, buffers are parameters or allocated around
// their use, inputs are not stored to, types and lanes agree, extents are i64 (constant where a loop is
// vectorised or unrolled), thread tags only on kThread loops, barriers only inside those, no parallel
// or thread loop inside a parallel loop. In kFlat also: buffers in registers have constant indices.
void verify(const Function& f, Dialect dialect);

}  // namespace tenon::ir
