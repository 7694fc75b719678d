// SPDX-License-Identifier: Apache-2.0
// A plan says where each allocated buffer lives: in registers, on the stack, or in the workspace.
//
// Registers: every access is a run of constant offsets outside parallel loops. Runs that overlap
// share a slot; each slot becomes one SSA value, so that an accumulator stays in a register across
// loops.
//
//   acc: local f32[32];  acc[0:16], acc[16:32], acc[16]   =>   slots {0, 16 lanes}, {16, 16 lanes}
//
// A sum whose last vector is not full is masked alike wherever it stands (Slot::alike).
//
// Workspace: global buffers allocated outside parallel loops; those in sibling scopes share space.
// A buffer allocated inside a parallel loop is private to its iteration and goes to the stack; one
// that is too large for that gets a place in the workspace for each iteration.
//
// Shared: buffers of that scope, where the threads of a GPU's block can see them.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

struct Slot {
  int64_t begin = 0;
  int lanes = 1;
  // Every access is of the whole slot and under one condition: the lanes that it leaves out are
  // never looked at, so they may hold anything.
  bool alike = false;
};

struct Place {
  enum class Kind : uint8_t { kRegisters, kStack, kWorkspace, kShared } kind = Kind::kStack;
  std::vector<Slot> slots;  // kRegisters; ascending
  int64_t offset = 0;       // kWorkspace; a multiple of the alignment
  int64_t bytes = 0;        // kWorkspace; a multiple of the alignment
  int64_t behind = 0;  // kStack; so many elements behind the last one may be read and hold nothing
  int64_t stride = 0;  // kWorkspace; from one parallel iteration's copy to the next, 0: one copy
};

struct StoragePlan {
  std::unordered_map<const ir::BufferNode*, Place> places;
  int64_t workspace_bytes = 0;
};

// `alignment` is that of buffers in the workspace, `behind` see Place.
StoragePlan plan_storage(const ir::Stmt& body, int64_t alignment = 64, int64_t behind = 0);

}  // namespace tenon::backend::llvm_cpu
