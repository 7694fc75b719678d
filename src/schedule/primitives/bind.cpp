// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/bind.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Bind::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  if (s[stage].loop(loop.id).kind == LoopKind::kReduce) {
    return Illegal{.code = IllegalCode::kReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  if (s.target().is_cpu()) {
    return Illegal{.code = IllegalCode::kUnsupportedHere, .stage = stage.id, .loop = loop.id};
  }
  for (const LoopId l : s[stage].leaves) {
    if (tag == ir::ThreadTag::kVThread || s[stage].loop(l).tag != tag) continue;
    return Illegal{.code = IllegalCode::kTagTwice, .stage = stage.id, .loop = l};
  }
  return {};
}

void Bind::apply(State& s) const {
  Loop& l = s.edit(stage.id).loop(loop.id);
  l.mark = Mark::kThread;
  l.tag = tag;
}

}  // namespace tenon::schedule
