// SPDX-License-Identifier: Apache-2.0
// Stores a dimension as overlapping tiles of `size`, each `stride` after the one before, so that a sliding
// window finds all it needs in one tile.
//   X[y + r], y in tiles of 4, r < 3  =>  X[tile][y.1 + r]        layout_unfold X 0 6 4
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutUnfold {
  StageRef stage;
  int64_t dim = 0;
  int64_t size = 1;
  int64_t stride = 1;

  static constexpr auto kFields =
      fields(field("stage", &LayoutUnfold::stage), field("dim", &LayoutUnfold::dim),
             field("size", &LayoutUnfold::size), field("stride", &LayoutUnfold::stride));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
