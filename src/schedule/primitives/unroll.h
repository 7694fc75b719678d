// SPDX-License-Identifier: Apache-2.0
// Replaces a loop by copies of its body.
//   for i in 0..2 { C[i] = i }  =>  C[0] = 0; C[1] = 1        unroll C i
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Unroll {
  StageRef stage;
  LoopRef loop;

  static constexpr auto kFields =
      fields(field("stage", &Unroll::stage), field("loop", &Unroll::loop));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
