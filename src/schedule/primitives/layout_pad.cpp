// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_pad.h"

#include "schedule/layout_rewrite.h"

namespace tenon::schedule {

namespace {

layout::LayoutStep layout_step(const LayoutPad& p) {
  return {layout::LayoutOp::kPad, p.dim, {p.before, p.after}};
}

}  // namespace

Result<void> LayoutPad::check(const State& s) const {
  return check_layout(s, stage, layout_step(*this));
}

void LayoutPad::apply(State& s) const { apply_layout(s, stage, layout_step(*this)); }

}  // namespace tenon::schedule
