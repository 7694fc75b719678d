// SPDX-License-Identifier: Apache-2.0
// Makes one stored dimension of `count` neighbours.
//   X[n][h][w]  =>  X[n][h*w]        layout_fuse X 1 2
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutFuse {
  StageRef stage;
  int64_t dim = 0;
  int64_t count = 2;

  static constexpr auto kFields =
      fields(field("stage", &LayoutFuse::stage), field("dim", &LayoutFuse::dim),
             field("count", &LayoutFuse::count));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
