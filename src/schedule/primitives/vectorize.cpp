// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/vectorize.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Vectorize::check(const State& s) const {
  TENON_TRY(check_lanes(s, stage, loop));
  const Stage& st = s[stage];
  // So there is never a second vectorised loop.
  for (size_t i = static_cast<size_t>(st.position(loop.id)) + 1; i < st.leaves.size(); ++i) {
    if (st.loop(st.leaves[i]).mark != Mark::kUnroll) {
      return Illegal{.code = IllegalCode::kNotInnermost, .stage = stage.id, .loop = loop.id};
    }
  }
  for (int i = st.position(loop.id); i < static_cast<int>(st.leaves.size()); ++i) {
    if (!s.attached_to(stage.id, st.leaves[static_cast<size_t>(i)]).empty()) {
      return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = loop.id};
    }
  }
  return {};
}

void Vectorize::apply(State& s) const { s.edit(stage.id).loop(loop.id).mark = Mark::kVectorize; }

}  // namespace tenon::schedule
