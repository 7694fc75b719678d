// SPDX-License-Identifier: Apache-2.0
// Rows of a register tile into columns, so that what lies far apart in memory is moved in vectors.
//
//   {a0 a1 a2 a3}, {b0 b1 b2 b3}  =>  {a0 b0}, {a1 b1}, {a2 b2}, {a3 b3}
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace tenon::backend::llvm_cpu {

// Vectors of one type whose lanes are a multiple of four, 16 at most; at most 16 of them. As many
// vectors as they had lanes come back, each with as many lanes as there were vectors; the number is
// rounded up to a multiple of four, or of eight above eight, with lanes that hold nothing.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows);

}  // namespace tenon::backend::llvm_cpu
