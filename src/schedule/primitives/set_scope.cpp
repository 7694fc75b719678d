// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/set_scope.h"

#include "schedule/bounds.h"
#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> SetScope::check(const State& s) const {
  TENON_TRY(check_set_scope(s, stage, scope));
  State moved = s;
  apply(moved);
  const auto bounds = infer_bounds(moved, stage.id, BoundsFor::kSearch);
  if (!bounds) return bounds.illegal();
  return {};
}

void SetScope::apply(State& s) const { s.edit(stage.id).scope = scope; }

}  // namespace tenon::schedule
