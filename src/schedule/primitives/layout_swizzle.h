// SPDX-License-Identifier: Apache-2.0
// Stores each row along `dim` in an order of its own: index i becomes i xor (j mod count), where j is the index of
// dimension `by`. Threads of a GPU that write along `by` and read along `dim` then find different banks of shared memory
// both times, without the padding of storage_align. Nothing is stored more than once.
//   S[k][p]  =>  S[k][p ^ k % 8]        layout_swizzle S 1 0 8
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutSwizzle {
  StageRef stage;
  int64_t dim = 0;
  int64_t by = 0;
  int64_t count = 2;

  static constexpr auto kFields =
      fields(field("stage", &LayoutSwizzle::stage), field("dim", &LayoutSwizzle::dim),
             field("by", &LayoutSwizzle::by), field("count", &LayoutSwizzle::count));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
