// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_reorder.h"

#include "schedule/layout_rewrite.h"

namespace tenon::schedule {

namespace {

layout::LayoutStep layout_step(const LayoutReorder& p) {
  return {layout::LayoutOp::kReorder, 0, p.perm};
}

}  // namespace

Result<void> LayoutReorder::check(const State& s) const {
  return check_layout(s, stage, layout_step(*this));
}

void LayoutReorder::apply(State& s) const { apply_layout(s, stage, layout_step(*this)); }

}  // namespace tenon::schedule
