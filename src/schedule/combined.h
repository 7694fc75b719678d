// SPDX-License-Identifier: Apache-2.0
// A reduction that threads of a GPU share: its only reduction loop is bound to thread_x, so that each of them has one
// element of the sum. The threads of a warp exchange what they have, several warps meet in shared memory, and all of
// them have the result.
//   S = sum(t) S.rf[t]        bind S t thread_x
#pragma once

#include <vector>

#include "schedule/bounds.h"

namespace tenon::schedule {

// The loop of the stage that is bound so; -1: none.
LoopId combined_loop(const Stage& st);

// The loops along y and z around that loop, the innermost of each: every value of them is a sum of its own.
struct RowLoop {
  StageId stage;
  LoopId loop;
};
std::vector<RowLoop> rows_of(const State& s, const Stage& st);

// Elements of shared memory in which the warps of a block meet; 0 where a sum has no more than one.
int64_t meeting_elements(const State& s, const Bounds& b, const Stage& st);

}  // namespace tenon::schedule
