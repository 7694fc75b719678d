// SPDX-License-Identifier: Apache-2.0
// Permutes the dimensions of how a tensor is stored: dimension d of the result is perm[d] of before.
//   W[k][c]  =>  W[c][k]        layout_reorder W [1, 0]
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutReorder {
  StageRef stage;
  std::vector<int64_t> perm;

  static constexpr auto kFields =
      fields(field("stage", &LayoutReorder::stage), field("perm", &LayoutReorder::perm));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
