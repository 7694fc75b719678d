// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/tensorize.h"

#include "arith/linear.h"
#include "arith/simplify.h"
#include "ir/build.h"
#include "schedule/bounds.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

bool matches(const ir::Binary& product, const DotRow& row) {
  const auto* a = product.a.as<ir::Cast>();
  const auto* b = product.b.as<ir::Cast>();
  if (a == nullptr || b == nullptr || product.dtype != row.sum) return false;
  const ir::DType x = a->value.dtype();
  const ir::DType y = b->value.dtype();
  return (x == row.a && y == row.b) || (x == row.b && y == row.a);
}

// How far one step of a loop moves a read; nothing if it is no fixed distance.
std::optional<int64_t> step_of(const arith::Linear& offset, const ir::VarNode* v) {
  for (const auto& [atom, k] : offset.terms) {
    if (atom.as<ir::VarNode>() == nullptr && ir::uses_var(atom, v)) return std::nullopt;
  }
  return offset.coefficient(v);
}

// The first tensor that is read otherwise than in packed groups, or the same for all lanes; undefined: none.
ir::Buffer scattered(const Stage& st, LoopId lanes, LoopId loop, int64_t group) {
  arith::Ranges ranges;
  const StageBounds sb = whole_bounds(st, ranges);
  const ir::VarMap axes = axis_values(st, sb);
  const ir::VarNode* lane = sb.vars[static_cast<size_t>(lanes)].node();
  const ir::VarNode* element = sb.vars[static_cast<size_t>(loop)].node();
  ir::Buffer found;
  ir::visit(st.op->body, [&](const ir::Expr& e) {
    const auto* read = e.as<ir::Load>();
    if (read == nullptr || found.defined()) return;
    ir::Expr offset(0);
    for (size_t d = 0; d < read->indices.size(); ++d) {
      offset = offset + ir::substitute(read->indices[d], axes) * ir::Expr(read->buffer->strides[d]);
    }
    const arith::Linear form = arith::to_linear(arith::simplify(offset, ranges));
    const auto along_lanes = step_of(form, lane);
    const auto along_group = step_of(form, element);
    const bool shared = along_lanes == 0 && (along_group == 0 || along_group == 1);
    if (!shared && !(along_lanes == group && along_group == 1)) found = read->buffer;
  });
  return found;
}

}  // namespace

Result<void> Tensorize::check_loops(const State& s) const {
  TENON_TRY(check_lanes(s, stage, lanes));
  TENON_TRY(check_free_leaf(s, stage, loop));
  const Stage& st = s[stage];
  if (!st.op->is_reduction()) return Illegal{.code = IllegalCode::kNoReduction, .stage = stage.id};
  if (st.loop(loop.id).kind != LoopKind::kReduce) {
    return Illegal{.code = IllegalCode::kNotReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  const int innermost = static_cast<int>(st.leaves.size()) - 1;
  if (st.position(loop.id) != innermost || st.position(lanes.id) != innermost - 1) {
    return Illegal{.code = IllegalCode::kNotInLanes, .stage = stage.id, .loop = loop.id};
  }
  for (const LoopId l : {lanes.id, loop.id}) {
    if (s.attached_to(stage.id, l).empty()) continue;
    return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = l};
  }
  return {};
}

Result<void> Tensorize::check(const State& s) const {
  TENON_TRY(check_loops(s));
  const Stage& st = s[stage];
  const auto* product = st.op->body.as<ir::Binary>();
  if (*st.op->combiner != ir::BinaryOp::kAdd || product == nullptr ||
      product->op != ir::BinaryOp::kMul) {
    return Illegal{.code = IllegalCode::kNotProducts, .stage = stage.id};
  }
  const DotRow& row = row_of(intrinsic);
  if (!matches(*product, row)) {
    return Illegal{.code = IllegalCode::kBadIntrinsic,
                   .stage = stage.id,
                   .value = static_cast<int64_t>(intrinsic)};
  }
  if (const int64_t extent = st.loop(loop.id).extent; extent != row.group) {
    return Illegal{.code = IllegalCode::kBadGroup,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = extent,
                   .limit = row.group};
  }
  if (const ir::Buffer b = scattered(st, lanes.id, loop.id, row.group); b.defined()) {
    return Illegal{.code = IllegalCode::kNotPacked,
                   .stage = stage.id,
                   .loop = loop.id,
                   .other = s.owner(b),
                   .limit = row.group};
  }
  return {};
}

void Tensorize::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  st.loop(lanes.id).mark = Mark::kVectorize;
  st.loop(loop.id).mark = Mark::kTensorize;
}

}  // namespace tenon::schedule
