// SPDX-License-Identifier: Apache-2.0
// Unrolls the inner loops of a stage as far as the number of copies stays within `limit`: from the innermost
// outwards, a serial loop with nothing attached is unrolled while extent x copies so far <= limit.
//   for k { for i in 0..4 { .. vector .. } }  =>  for k { 4 copies }        pragma_unroll C 16
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct PragmaUnroll {
  StageRef stage;
  int64_t limit = 0;

  static constexpr auto kFields = fields(field("stage", &PragmaUnroll::stage),
                                         field("limit", &PragmaUnroll::limit, Tunable::kLimit));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
