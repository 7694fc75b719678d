// SPDX-License-Identifier: Apache-2.0
// Replaces every read of a stage by its definition; the stage is no longer stored.
//   B[i] = A[i] + 1; C[i] = B[i] * 2  =>  C[i] = (A[i] + 1) * 2        compute_inline B
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct ComputeInline {
  StageRef stage;

  static constexpr auto kFields = fields(field("stage", &ComputeInline::stage));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
