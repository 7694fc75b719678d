// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_fuse.h"

#include "schedule/layout_rewrite.h"

namespace tenon::schedule {

namespace {

layout::LayoutStep layout_step(const LayoutFuse& p) {
  return {layout::LayoutOp::kFuse, p.dim, {p.count}};
}

}  // namespace

Result<void> LayoutFuse::check(const State& s) const {
  return check_layout(s, stage, layout_step(*this));
}

void LayoutFuse::apply(State& s) const { apply_layout(s, stage, layout_step(*this)); }

}  // namespace tenon::schedule
