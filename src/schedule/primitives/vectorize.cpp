// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/vectorize.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Vectorize::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const Stage& st = s[stage];
  constexpr int64_t kMaxLanes = 64;
  const int64_t extent = st.loop(loop.id).extent;
  // Of an attached stage the extent is known once the program is complete; check_program looks then.
  if (extent < 2 || (extent > kMaxLanes && st.place != Place::kAt)) {
    return Illegal{.code = IllegalCode::kBadLanes,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = extent,
                   .limit = kMaxLanes};
  }
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
