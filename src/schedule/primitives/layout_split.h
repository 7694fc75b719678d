// SPDX-License-Identifier: Apache-2.0
// Splits a dimension of how a tensor is stored; the product of the factors may exceed the extent.
//   W[64][c]  =>  W[4][16][c]        layout_split W 0 [4, 16]
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutSplit {
  StageRef stage;
  int64_t dim = 0;
  std::vector<int64_t> factors;

  static constexpr auto kFields =
      fields(field("stage", &LayoutSplit::stage), field("dim", &LayoutSplit::dim),
             field("factors", &LayoutSplit::factors, Tunable::kFactors));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
