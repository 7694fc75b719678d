// SPDX-License-Identifier: Apache-2.0
// Bound inference: which part of each stage is computed where, and so how long its loops really are.
//
// A stage at the root computes all of its tensor. A stage attached to a loop computes the box that the
// readers inside that loop need: loops outside the attachment are fixed variables, loops inside range over
// all they run through, a split with all its parts inside as one loop. Exact for affine accesses; a box that mixes both in one term (parts of a fused
// loop on both sides) is refused.
//
//   C[i] reads B[2*i + r], i -> i.0 (4), i.1 (8), r < 3, B attached at i.0:
//     B computes [16*i.0, 16*i.0 + 17): extent 17
#pragma once

#include <vector>

#include "arith/interval.h"
#include "ir/visit.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct AxisBounds {
  ir::Expr min = ir::Expr(0);  // over variables of enclosing loops; 0 at the root
  int64_t extent = 1;          // the most that is needed
};

struct StageBounds {
  std::vector<ir::Var> vars;     // by LoopId; only leaves appear in programs
  std::vector<int64_t> extents;  // by LoopId, the real ones
  std::vector<ir::Expr> values;  // by LoopId, over the variables of leaves
  std::vector<AxisBounds> axes;  // by spatial axis
  std::vector<ir::Expr>
      guards;  // over leaves and enclosing loops: all must hold for an iteration to count
  std::vector<ir::Expr> spatial_guards;  // those that do not involve reduction loops
  // Of a stage that fills all of its box (rules.h): true for those elements of it that the tensor has.
  std::vector<ir::Expr> inside;
};

struct Bounds {
  std::vector<StageBounds> stages;  // by StageId; empty for inputs and inlined stages
  arith::Ranges ranges;             // of every loop variable
};

enum class BoundsFor : uint8_t {
  kProgram,  // everything
  kSearch,   // extents, values and boxes only: variables have no names, and guards are left out
};

// From the outputs backwards, all stages or those down to `until` in the order.
Result<Bounds> infer_bounds(const State& s, StageId until = -1,
                            BoundsFor purpose = BoundsFor::kProgram);

// Brings bounds of kSearch up to date after loops were split, fused or reordered inside everything that is attached to
// their stage, and after stages were added at the root: no box changes, and loops that remain keep their variables.
void refill_bounds(const State& s, Bounds& b);

// What each axis of the stage's op stands for, given the values of its loops.
ir::VarMap axis_values(const Stage& st, const StageBounds& sb, const std::vector<ir::Expr>& values);
inline ir::VarMap axis_values(const Stage& st, const StageBounds& sb) {
  return axis_values(st, sb, sb.values);
}

// `values` has an entry per loop, defined for leaves at least: fills in those that follow from others.
void complete_values(const Stage& st, const StageBounds& sb, const arith::Ranges& ranges,
                     std::vector<ir::Expr>& values);

// Bounds of a stage as if it computed all of its tensor; binds its variables in `ranges`.
StageBounds whole_bounds(const Stage& st, arith::Ranges& ranges);

}  // namespace tenon::schedule
