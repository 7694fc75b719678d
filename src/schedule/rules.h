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
// In addition a vector can hold its iterations, as far as they are known.
Result<void> check_lanes(const State& s, StageRef stage, LoopRef loop);
// No other stage is attached to a loop of this one.
Result<void> check_hosts_nothing(const State& s, StageRef stage);
// Every attached stage stands around all its readers and outside vectorised loops, and has no parallel loop inside
// another. For steps that move what is
// attached or what reads it: called on the state that they would make.
Result<void> check_attachments(const State& s);
// Moves every stage attached to `from` of `stage` to `to`.
void move_attachments(State& s, StageId stage, LoopId from, LoopId to);
// The target has this memory for stages.
Result<void> check_scope(const State& s, StageRef stage, ir::Scope scope);
// The stage may move there, as far as that can be told without bounds.
Result<void> check_set_scope(const State& s, StageRef stage, ir::Scope scope);
// The stride of dimension `d` where rows side by side would have `dense`: storage_align widens one.
int64_t aligned_stride(const Stage& st, size_t d, int64_t dense);
// On a GPU an attached stage fills all of its box, with zeros where that leaves the tensor: then
// whoever reads it needs no guard, and threads do not part.
bool computes_whole_box(const State& s, const Stage& st);
// What is attached to a pipelined loop in shared memory is stored twice: one part is read while the
// other is filled.
bool is_stored_twice(const State& s, const Stage& st);
// True if `inner` is `outer` or attached (through any number of stages) below loop position `pos` of it.
bool is_below(const State& s, StageId inner, StageId outer, int pos);

}  // namespace tenon::schedule
