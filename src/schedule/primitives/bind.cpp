// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/bind.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Bind::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  if (s[stage].loop(loop.id).kind == LoopKind::kReduce) {
    return Illegal{.code = IllegalCode::kReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  // Every target there is so far is a CPU.
  return Illegal{.code = IllegalCode::kUnsupportedHere, .stage = stage.id, .loop = loop.id};
}

void Bind::apply(State& s) const {
  Loop& l = s.edit(stage.id).loop(loop.id);
  l.mark = Mark::kThread;
  l.tag = tag;
}

}  // namespace tenon::schedule
