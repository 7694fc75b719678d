// SPDX-License-Identifier: Apache-2.0
// Keeps an attached stage in another memory: what the threads of a GPU's block compute together and
// all of them read lies in shared memory.
//   for block { local B; .. }  =>  for block { shared B; .. }        set_scope B shared
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct SetScope {
  StageRef stage;
  ir::Scope scope = ir::Scope::kLocal;

  static constexpr auto kFields =
      fields(field("stage", &SetScope::stage), field("scope", &SetScope::scope));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
