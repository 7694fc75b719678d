// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/pipeline.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Pipeline::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  if (s.target().is_cpu()) {
    return Illegal{.code = IllegalCode::kUnsupportedHere, .stage = stage.id, .loop = loop.id};
  }
  if (s[stage].pipelined >= 0) {
    return Illegal{.code = IllegalCode::kAnnotated, .stage = stage.id, .loop = s[stage].pipelined};
  }
  return {};
}

void Pipeline::apply(State& s) const { s.edit(stage.id).pipelined = loop.id; }

}  // namespace tenon::schedule
