// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_swizzle.h"

#include "schedule/layout_rewrite.h"

namespace tenon::schedule {

namespace {

layout::LayoutStep layout_step(const LayoutSwizzle& p) {
  return {layout::LayoutOp::kSwizzle, p.dim, {p.by, p.count}};
}

}  // namespace

Result<void> LayoutSwizzle::check(const State& s) const {
  return check_layout(s, stage, layout_step(*this));
}

void LayoutSwizzle::apply(State& s) const { apply_layout(s, stage, layout_step(*this)); }

}  // namespace tenon::schedule
