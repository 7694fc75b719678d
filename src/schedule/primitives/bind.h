// SPDX-License-Identifier: Apache-2.0
// Gives each block or thread of a GPU one iteration of a spatial loop. CPU targets refuse it.
//   for i in 0..128  =>  thread i in 0..128 on thread_x        bind C i thread_x
// The only reduction loop of a stage may be bound to thread_x: each thread has one element of the sum, as rfactor leaves
// it, and the threads combine them in a fixed order (ir::Combine), those of several warps by way of shared memory.
//   for t { S += S.rf[t] }  =>  thread t { a = S.rf[t]; combine a; S = a }        bind S t thread_x
// Virtual threads are iterations that one thread does side by side: what is inside of their loop
// belongs to one of them each, but for what is shared, which a thread computes once for all.
//   for v { local s; for k { s += .. } }  =>  local s[2]; for k { s[0] += ..; s[1] += .. }
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Bind {
  StageRef stage;
  LoopRef loop;
  ir::ThreadTag tag = ir::ThreadTag::kNone;

  static constexpr auto kFields =
      fields(field("stage", &Bind::stage), field("loop", &Bind::loop), field("tag", &Bind::tag));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
