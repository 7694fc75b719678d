// SPDX-License-Identifier: Apache-2.0
// Stores zeros before and after a dimension. A reader that guards its access to keep it inside the tensor, as
// padding does, loses the guard where the stored zeros answer for it.
//   select(0 <= y - 1, X[y - 1], 0)  =>  X[y]        layout_pad X 0 1 1
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutPad {
  StageRef stage;
  int64_t dim = 0;
  int64_t before = 0;
  int64_t after = 0;

  static constexpr auto kFields =
      fields(field("stage", &LayoutPad::stage), field("dim", &LayoutPad::dim),
             field("before", &LayoutPad::before), field("after", &LayoutPad::after));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
