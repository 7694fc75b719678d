// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/compute_root.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> ComputeRoot::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  if (s[stage].place != Place::kAt) return {};
  State moved = s;
  apply(moved);
  return check_attachments(moved);
}

void ComputeRoot::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  st.place = Place::kRoot;
  st.at_stage = -1;
  st.at_loop = -1;
  if (st.scope == ir::Scope::kLocal) st.scope = ir::Scope::kGlobal;
}

}  // namespace tenon::schedule
