// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/decompose_init.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> DecomposeInit::check(const State& s) const {
  TENON_TRY(check_leaf(s, stage, loop));
  const Stage& st = s[stage];
  if (!st.op->is_reduction()) return Illegal{.code = IllegalCode::kNoReduction, .stage = stage.id};
  for (int i = 0; i < st.position(loop.id); ++i) {
    if (st.loop(st.leaves[static_cast<size_t>(i)]).kind == LoopKind::kReduce) {
      return Illegal{.code = IllegalCode::kBadInitLoop, .stage = stage.id, .loop = loop.id};
    }
  }
  return {};
}

void DecomposeInit::apply(State& s) const { s.edit(stage.id).init_at = loop.id; }

}  // namespace tenon::schedule
