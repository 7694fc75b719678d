// SPDX-License-Identifier: Apache-2.0
// Pads the rows of a stored intermediate so that the stride of `dim` is `offset` modulo `factor`, away from
// cache sets that collide.
//   B[64][64], strides 64,1  =>  strides 72,1        storage_align B 0 16 8
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct StorageAlign {
  StageRef stage;
  int64_t dim = 0;
  int64_t factor = 1;
  int64_t offset = 0;

  static constexpr auto kFields =
      fields(field("stage", &StorageAlign::stage), field("dim", &StorageAlign::dim),
             field("factor", &StorageAlign::factor), field("offset", &StorageAlign::offset));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
