// SPDX-License-Identifier: Apache-2.0
// Legality rules that several primitives share. No side effects; nothing is allocated when all is well.
#pragma once

#include "schedule/state.h"

namespace tenon::schedule {

// The stage exists, computes something and is not inlined.
Result<void> check_computed(const State& s, StageRef stage);
// In addition `loop` exists and was not split or fused.
Result<void> check_leaf(const State& s, StageRef stage, LoopRef loop);
// In addition the loop carries no mark.
Result<void> check_free_leaf(const State& s, StageRef stage, LoopRef loop);
// Moves every stage attached to `from` of `stage` to `to`.
void move_attachments(State& s, StageId stage, LoopId from, LoopId to);
// True if `inner` is `outer` or attached (through any number of stages) below loop position `pos` of it.
bool is_below(const State& s, StageId inner, StageId outer, int pos);

}  // namespace tenon::schedule
