// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/unroll.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Unroll::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  // Of an attached stage the extents are known once the program is complete; check_program looks then.
  if (s[stage].place == Place::kAt) return {};
  const int64_t most = s.target().limits.unrolled_loops;
  int64_t copies = s[stage].loop(loop.id).extent;
  for (const LoopId l : s[stage].leaves) {
    if (s[stage].loop(l).mark == Mark::kUnroll) copies *= s[stage].loop(l).extent;
  }
  if (copies > most) {
    return Illegal{.code = IllegalCode::kUnrollTooLarge,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = copies,
                   .limit = most};
  }
  return {};
}

void Unroll::apply(State& s) const { s.edit(stage.id).loop(loop.id).mark = Mark::kUnroll; }

}  // namespace tenon::schedule
