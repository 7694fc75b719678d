// SPDX-License-Identifier: Apache-2.0
// How much a loop has to do, roughly: enough to tell what is worth another thread from what is not.
//
//   for i in 0..8 { C[ramp(16*i)] = A[ramp(16*i)] + 1 }   on vectors of 16   =>   24: 8 loads, sums and stores
#pragma once

#include "backend/llvm/cpu.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

// Operations on whole vectors. Indices are left out, registers are free, a loop of unknown extent runs a few times.
double vector_operations(const ir::Stmt& s, const Cpu& cpu);

// Iterations of a parallel loop that make a piece worth another thread, at least 1.
int64_t iterations_per_piece(const ir::For& loop, const Cpu& cpu);

}  // namespace tenon::backend::llvm_cpu
