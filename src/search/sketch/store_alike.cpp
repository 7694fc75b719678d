// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/store_alike.h"

#include <optional>

#include "te/access.h"

namespace tenon::search {
namespace {

using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;

// Nothing for what does not store each element once and nothing else.
std::optional<schedule::Step> as_step(StageRef stage, const layout::LayoutStep& step) {
  switch (step.op) {
    case layout::LayoutOp::kSplit:
      return schedule::LayoutSplit{stage, step.dim, step.args};
    case layout::LayoutOp::kReorder:
      return schedule::LayoutReorder{stage, step.args};
    case layout::LayoutOp::kFuse:
      return schedule::LayoutFuse{stage, step.dim, step.args[0]};
    default:
      return std::nullopt;
  }
}

// All steps of the layout, or none.
void store_like(Sketch& s, StageId stage, const layout::Layout& like) {
  Sketch tried = s;
  for (const layout::LayoutStep& step : like.steps()) {
    const auto next = as_step(StageRef{stage}, step);
    if (!next || !tried.add(*next)) return;
  }
  s = std::move(tried);
}

// The stage whose layout fits `stage`: its only reader, or the tensor it copies with an offset; -1 if there is none.
StageId like_which(const Sketch& s, StageId stage) {
  const te::ComputeOp* op = definition(s, stage);
  if (op == nullptr) return -1;  // made by a step
  const auto readers = s.state.readers(stage);
  const auto* reader = readers.size() == 1 ? definition(s, readers[0]) : nullptr;
  if (reader != nullptr && te::is_elementwise_match(*op, *reader)) return readers[0];
  const auto reads = te::accesses(*op);
  if (op->is_reduction() || reads.size() != 1 || reads[0].indices.size() != op->axes.size())
    return -1;
  for (size_t d = 0; d < op->axes.size(); ++d) {
    const arith::Linear& l = reads[0].map[d];
    if (l.terms.size() != 1 || l.coefficient(op->axes[d].var.node()) != 1) return -1;
  }
  for (const StageId id : s.state.order()) {
    if (s.state.stage(id).name == reads[0].tensor.name()) return id;
  }
  return -1;
}

}  // namespace

void store_alike(Sketch& s) {
  const std::vector<StageId> order = s.state.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Stage& st = s.state.stage(*it);
    if (st.is_input() || st.output || !st.layout.is_identity()) continue;
    const StageId like = like_which(s, *it);
    if (like >= 0) store_like(s, *it, layout::Layout(s.state.stage(like).layout));
  }
}

}  // namespace tenon::search
