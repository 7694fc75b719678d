// SPDX-License-Identifier: Apache-2.0
// The program of a State as a cost model sees it: for each computed stage one store, the loops
// around it (its own and those of the stages that it is attached to), the operations of its body,
// and every buffer that it touches with the indices as forms over those loops. In the order of
// execution. The store of a reduction's initial value is left out.
//
//   parallel i.0 { C.cache at i.0 { for k, for i, j: C.cache += A*B }  for i.1, j: C = C.cache }
//     =>  C.cache under i.0 k i j,  C under i.0 i.1 j
//
// Indices are those of the whole tensor, also for a buffer that holds only a part of it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "cost/forms.h"
#include "schedule/bounds.h"
#include "support/function_ref.h"

namespace tenon::cost {

struct NestLoop {
  int32_t id = 0;  // the same for every statement under the loop
  int64_t extent = 1;
  schedule::LoopKind kind = schedule::LoopKind::kSpatial;
  schedule::Mark mark = schedule::Mark::kNone;  // kVectorize for the groups of a dot product too
  ir::ThreadTag tag = ir::ThreadTag::kNone;
  const ir::VarNode* var = nullptr;
};

// Seven kinds of operations on floats, the same on integers, then logic and selects.
enum OpColumn : size_t {
  kMulAdd,
  kAddSub,
  kMul,
  kDivMod,
  kCompare,
  kMath,
  kOtherOp,
  kIntOps,
  kLogic = 14,
  kSelects,
  kOpColumns
};
using OpCounts = std::array<double, kOpColumns>;

struct Dim {
  double whole;              // extent of the tensor
  double held;               // extent of the buffer
  double stride;             // in elements of the buffer
  int32_t first_index = -1;  // of Statement::distinct
};

// An index that a dimension of a use is accessed by. Accesses of a written-out transform are many and share most of theirs.
struct Index {
  const ir::ExprNode* expr;  // null for an axis of the stage
  FormId form;
  int32_t next;  // of the same dimension; -1: the last
};

struct Use {
  const ir::BufferNode* buffer;
  bool read, written;
  double bytes;  // of one element
  size_t rank, first_dim;
};

// One access: `rank` entries of Statement::indices.
struct Access {
  size_t use, first;
};

struct Statement {
  const schedule::Stage* stage = nullptr;
  std::vector<NestLoop> loops;  // outermost first
  OpCounts ops{};               // per iteration
  std::vector<Use> uses;        // the stored buffer first
  std::vector<Dim> dims;
  std::vector<Access> accesses;
  std::vector<FormId> indices;
  std::vector<Index> distinct;
  Forms forms;
  bool allocates = false;  // the stored buffer belongs to the program
  size_t alloc_depth = 0;  // loops around its allocation
  double alloc_elements = 0;
};

enum class UnitLoops : uint8_t { kDropped, kKept };  // loops of one iteration

// `b` is infer_bounds(s). The statement is reused: `fn` may run its loops but must not keep it.
void for_each_statement(const schedule::State& s, const schedule::Bounds& b,
                        FunctionRef<void(Statement&)> fn, UnitLoops units = UnitLoops::kDropped);

double iterations(std::span<const NestLoop> loops);
// Arithmetic on floats; of a statement without any, that on integers.
double arithmetic(const OpCounts& ops);
// How far one step of the loop moves the access, in elements of the buffer as it is stored. 0: not
// at all.
double stride_of(const Statement& s, const Access& a, size_t loop);

}  // namespace tenon::cost
