// SPDX-License-Identifier: Apache-2.0
// Stores one input inside another as an extra slab along `dim`, so that both are read from one stream.
//   W[k][n], b[n]  =>  W[k + 1][n], b[n] is W[K][n]        layout_store_at b W 0
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct LayoutStoreAt {
  StageRef stage;
  StageRef host;
  int64_t dim = 0;

  static constexpr auto kFields =
      fields(field("stage", &LayoutStoreAt::stage), field("host", &LayoutStoreAt::host),
             field("dim", &LayoutStoreAt::dim));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
