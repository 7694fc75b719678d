// SPDX-License-Identifier: Apache-2.0
// Runs all iterations of a loop at once in vector registers. Only unrolled loops may lie inside. A reduction
// loop is combined across lanes at each step; rfactor first makes that rare.
//   for j in 0..16 { C[j] = A[j] }  =>  C[ramp(0, 1, 16)] = A[ramp(0, 1, 16)]        vectorize C j
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Vectorize {
  StageRef stage;
  LoopRef loop;

  static constexpr auto kFields =
      fields(field("stage", &Vectorize::stage), field("loop", &Vectorize::loop));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
