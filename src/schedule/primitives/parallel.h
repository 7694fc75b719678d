// SPDX-License-Identifier: Apache-2.0
// Runs the iterations of a spatial loop on the threads of the runtime.
//   for i in 0..8  =>  parallel i in 0..8        parallel C i
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Parallel {
  StageRef stage;
  LoopRef loop;

  static constexpr auto kFields =
      fields(field("stage", &Parallel::stage), field("loop", &Parallel::loop));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
