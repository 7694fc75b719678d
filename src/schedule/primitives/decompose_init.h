// SPDX-License-Identifier: Apache-2.0
// Sets the initial value of a reduction before `loop`, which must not lie inside a reduction loop. Without
// this step it is set right before the outermost reduction loop.
//   for i { C[i] = 0; for k }  =>  for i { C[i] = 0 }; for i { for k }        decompose_init C i
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct DecomposeInit {
  StageRef stage;
  LoopRef loop;

  static constexpr auto kFields =
      fields(field("stage", &DecomposeInit::stage), field("loop", &DecomposeInit::loop));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
