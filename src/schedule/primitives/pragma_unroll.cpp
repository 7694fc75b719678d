// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/pragma_unroll.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> PragmaUnroll::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  constexpr int64_t kMaxLimit = 512;
  if (limit < 0 || limit > kMaxLimit) {
    return Illegal{
        .code = IllegalCode::kBadLimit, .stage = stage.id, .value = limit, .limit = kMaxLimit};
  }
  return {};
}

void PragmaUnroll::apply(State& s) const { s.edit(stage.id).unroll_limit = limit; }

}  // namespace tenon::schedule
