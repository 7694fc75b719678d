// SPDX-License-Identifier: Apache-2.0
// Undoes compute_at: the whole stage is computed before its readers.
//   for i { B[0] = ..; C[i] = B[0] }  =>  B = ..; for i { C[i] = B[i] }        compute_root B
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct ComputeRoot {
  StageRef stage;

  static constexpr auto kFields = fields(field("stage", &ComputeRoot::stage));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
