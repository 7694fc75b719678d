// SPDX-License-Identifier: Apache-2.0
// Permutes loops: those listed take, in the order given, the places that they have among all loops.
//   for i { for j { for k } }  =>  for k { for j { for i } }        reorder C [k, i]
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Reorder {
  StageRef stage;
  std::vector<LoopRef> loops;

  static constexpr auto kFields =
      fields(field("stage", &Reorder::stage), field("loops", &Reorder::loops));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
