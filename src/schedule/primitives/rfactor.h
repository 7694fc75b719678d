// SPDX-License-Identifier: Apache-2.0
// Factors a reduction: a new stage <name>.rf reduces over all other reduction loops for each value of `loop`,
// which becomes its axis number `axis`; the stage then reduces over that axis alone. The last axis is the
// form for vectors, axis 0 the form for parallel loops. Changes the order of summation.
//   S = sum(k) A[k], k -> k.0, k.1  =>  S.rf[k.1] = sum(k.0) A[..]; S = sum(k.1) S.rf[k.1]   rfactor S k.1 0
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Rfactor {
  StageRef stage;
  LoopRef loop;
  int64_t axis = 0;

  static constexpr auto kFields =
      fields(field("stage", &Rfactor::stage), field("loop", &Rfactor::loop),
             field("axis", &Rfactor::axis));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
