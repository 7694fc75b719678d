// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_split.h"

#include "schedule/layout_rewrite.h"

namespace tenon::schedule {

namespace {

layout::LayoutStep layout_step(const LayoutSplit& p) {
  return {layout::LayoutOp::kSplit, p.dim, p.factors};
}

}  // namespace

Result<void> LayoutSplit::check(const State& s) const {
  return check_layout(s, stage, layout_step(*this));
}

void LayoutSplit::apply(State& s) const { apply_layout(s, stage, layout_step(*this)); }

}  // namespace tenon::schedule
