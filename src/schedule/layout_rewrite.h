// SPDX-License-Identifier: Apache-2.0
// What the layout primitives share: one step of a layout changes the buffer of a stage, the loops that
// write it (they run over the storage shape) and the accesses of everyone who reads it.
#pragma once

#include "schedule/state.h"

namespace tenon::schedule {

Result<void> check_layout(const State& s, StageRef stage, const layout::LayoutStep& step);
void apply_layout(State& s, StageRef stage, const layout::LayoutStep& step);

}  // namespace tenon::schedule
