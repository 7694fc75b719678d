// SPDX-License-Identifier: Apache-2.0
// Prefetches what iteration `loop` + `distance` of a stage will read of `tensor`: the place where it begins, and where each
// turn of unrolled loops inside begins, as far as these are few.
//   for i { .. A[i] .. }  =>  for i { prefetch A[i + 8]; .. A[i] .. }        prefetch C i A 8
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Prefetch {
  StageRef stage;
  LoopRef loop;
  StageRef tensor;
  int64_t distance = 1;

  static constexpr auto kFields =
      fields(field("stage", &Prefetch::stage), field("loop", &Prefetch::loop),
             field("tensor", &Prefetch::tensor), field("distance", &Prefetch::distance));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
