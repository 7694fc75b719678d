// SPDX-License-Identifier: Apache-2.0
// Tables of 256 bytes that lie in registers: each lane is the entry that an 8-bit integer says.
//
//   t[i64(x[i..i+64])]  =>  vpermi2b of both halves of the table, and the one that bit 7 of x picks
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <optional>

#include "backend/llvm/cpu.h"
#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

// An index of a table: 8-bit integers, which are counted from the lowest of their type.
struct ByteIndex {
  ir::Expr bytes;
};
// The index of a vector of entries; nothing if it is no table of 256 bytes, or the processor is as fast lane by lane.
std::optional<ByteIndex> as_look_up(const Cpu& cpu, const ir::Load& n);

// A part of the table, `count` bytes from `at` on.
using TablePart = std::function<llvm::Value*(int at, int count)>;
llvm::Value* emit_look_up(llvm::IRBuilder<>& b, const Cpu& cpu, const TablePart& table,
                          const ByteIndex& index, llvm::Value* bytes);

}  // namespace tenon::backend::llvm_cpu
