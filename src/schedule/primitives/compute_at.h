// SPDX-License-Identifier: Apache-2.0
// Computes a stage inside a loop of the stage that reads it: only the part that one iteration needs, into a
// small buffer.
//   B = ..; for i { C[i] = B[i] }  =>  for i { B[0] = ..; C[i] = B[0] }        compute_at B C i
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct ComputeAt {
  StageRef stage;
  StageRef at_stage;
  LoopRef at_loop;

  static constexpr auto kFields =
      fields(field("stage", &ComputeAt::stage), field("at_stage", &ComputeAt::at_stage),
             field("at_loop", &ComputeAt::at_loop, Tunable::kLocation));
  Result<void> check(const State& s) const;
  // All of check() but that the box can be inferred.
  Result<void> check_place(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
