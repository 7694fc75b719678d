// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/pragma_unroll.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> PragmaUnroll::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  const int64_t most = s.target().limits.unrolled_loops;
  if (limit < 0 || limit > most) {
    return Illegal{
        .code = IllegalCode::kBadLimit, .stage = stage.id, .value = limit, .limit = most};
  }
  return {};
}

void PragmaUnroll::apply(State& s) const { s.edit(stage.id).unroll_limit = limit; }

}  // namespace tenon::schedule
