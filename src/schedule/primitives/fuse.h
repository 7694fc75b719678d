// SPDX-License-Identifier: Apache-2.0
// Makes one loop of several that directly enclose each other.
//   for i in 0..4 { for j in 0..8 }  =>  for i@j in 0..32        fuse C [i, j]
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Fuse {
  StageRef stage;
  std::vector<LoopRef> loops;  // outermost first, at least two

  static constexpr auto kFields =
      fields(field("stage", &Fuse::stage), field("loops", &Fuse::loops));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
