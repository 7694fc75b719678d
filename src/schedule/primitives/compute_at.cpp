// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/compute_at.h"

#include "schedule/bounds.h"
#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> ComputeAt::check(const State& s) const {
  TENON_TRY(check_place(s));
  State moved = s;
  apply(moved);
  const auto bounds = infer_bounds(moved, stage.id, BoundsFor::kSearch);
  if (!bounds) return bounds.illegal();
  return {};
}

Result<void> ComputeAt::check_place(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  if (s[stage].output) return Illegal{.code = IllegalCode::kIsOutput, .stage = stage.id};
  TENON_TRY(check_leaf(s, at_stage, at_loop));
  if (is_below(s, at_stage.id, stage.id, 0)) {
    return Illegal{.code = IllegalCode::kCyclicAttach, .stage = stage.id, .other = at_stage.id};
  }
  const auto readers = s.readers(stage.id);
  if (readers.empty()) return Illegal{.code = IllegalCode::kNoReaders, .stage = stage.id};
  // A prefetch would name what is not computed yet.
  for (const StageId r : readers) {
    for (const PrefetchNote& p : s.stage(r).prefetches) {
      if (p.tensor == stage.id) {
        return Illegal{.code = IllegalCode::kAttached, .stage = r, .loop = p.loop};
      }
    }
  }
  State moved = s;
  apply(moved);
  return check_attachments(moved);
}

void ComputeAt::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  st.place = Place::kAt;
  st.at_stage = at_stage.id;
  st.at_loop = at_loop.id;
  if (st.scope == ir::Scope::kGlobal) st.scope = ir::Scope::kLocal;
}

}  // namespace tenon::schedule
