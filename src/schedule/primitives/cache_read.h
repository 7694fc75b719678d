// SPDX-License-Identifier: Apache-2.0
// Copies a tensor into a new stage <name>.read that the listed readers use instead (all readers when empty).
//   C[i] = A[i] * 2  =>  A.read[i] = A[i]; C[i] = A.read[i] * 2        cache_read A [C] local
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct CacheRead {
  StageRef stage;
  std::vector<StageRef> readers;
  ir::Scope scope = ir::Scope::kLocal;

  static constexpr auto kFields =
      fields(field("stage", &CacheRead::stage), field("readers", &CacheRead::readers),
             field("scope", &CacheRead::scope));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
