// SPDX-License-Identifier: Apache-2.0
// The program of a State as the draft sees it: for each computed stage one statement, the loops around it, and how far
// each of them moves each access. A rougher and much cheaper view than statements.h: equal reads count once, conditions
// are not looked into, and buffers of the program's own move only with loops inside their allocation.
#pragma once

#include <vector>

#include "cost/reach.h"
#include "schedule/bounds.h"
#include "support/function_ref.h"

namespace tenon::cost {

struct DraftLoop {
  double extent = 1;
  schedule::Mark mark = schedule::Mark::kNone;
  bool reduces = false;
  ir::ThreadTag tag = ir::ThreadTag::kNone;
  const ir::VarNode* var = nullptr;
};

struct DraftDim {
  ReachTable::Row row = 0;
  double extent = 1;  // of the buffer
  double stride = 1;  // in elements
};

struct DraftAccess {
  const ir::BufferNode* buffer;
  double bytes;  // of one element
  bool written;
  bool in_registers;
  bool own;           // no input and no output
  ir::Scope scope;    // where the buffer lies
  size_t from;        // loops outside of this one do not move it
  size_t first, end;  // of DraftNest::dims
};

struct DraftNest {
  const schedule::Stage* stage = nullptr;
  std::vector<DraftLoop> loops;  // outermost first; those of one iteration are gone
  size_t own = 0;                // the first loop of the stage itself
  double ops = 0;                // vector instructions per iteration, loads and stores left out
  std::vector<DraftAccess> accesses;  // the store first
  std::vector<DraftDim> dims;
  ReachTable reach;

  // What one step, or all steps, of a loop move a dimension by.
  Reach of(const DraftAccess& a, const DraftDim& d, size_t loop) const {
    return loop < a.from ? Reach{} : reach.row(d.row)[loop];
  }
};

// `b` is infer_bounds(s). The nest is reused: `fn` must not keep it.
void for_each_nest(const schedule::State& s, const schedule::Bounds& b,
                   FunctionRef<void(const DraftNest&)> fn);

}  // namespace tenon::cost
