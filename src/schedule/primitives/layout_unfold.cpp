// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_unfold.h"

#include "schedule/layout_rewrite.h"

namespace tenon::schedule {

namespace {

layout::LayoutStep layout_step(const LayoutUnfold& p) {
  return {layout::LayoutOp::kUnfold, p.dim, {p.size, p.stride}};
}

}  // namespace

Result<void> LayoutUnfold::check(const State& s) const {
  return check_layout(s, stage, layout_step(*this));
}

void LayoutUnfold::apply(State& s) const { apply_layout(s, stage, layout_step(*this)); }

}  // namespace tenon::schedule
