// SPDX-License-Identifier: Apache-2.0
// Computes a stage into a new stage <name>.cache first; the stage itself becomes a copy of it. With scope
// register and compute_at, the new stage is the register tile that accumulates.
//   C[i] = sum ..  =>  C.cache[i] = sum ..; C[i] = C.cache[i]        cache_write C register
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct CacheWrite {
  StageRef stage;
  ir::Scope scope = ir::Scope::kLocal;

  static constexpr auto kFields =
      fields(field("stage", &CacheWrite::stage), field("scope", &CacheWrite::scope));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
