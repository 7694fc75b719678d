// SPDX-License-Identifier: Apache-2.0
// Rules for GPUs, in the order in which they are tried. A rule plans how a stage becomes part of a
// kernel; annotation (gpu_annotate.h) writes what is planned.
#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "search/sketch/gpu_annotate.h"
#include "search/sketch/sketch.h"
#include "search/sketch/stage_facts.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;

const te::ComputeOp& op_of(const Sketch& s, StageId id) { return *s.state.stage(id).op; }

bool is_reduction(const Sketch& s, StageId id) {
  return is_computed(s, id) && op_of(s, id).is_reduction();
}

const Plan* plan_of(const Sketch& s, StageId id) {
  for (const Plan& p : s.plans) {
    if (p.stage == id) return &p;
  }
  return nullptr;
}

// What is neither stored for others nor summed up.
bool is_between(const Sketch& s, StageId id) {
  return is_computed(s, id) && !s.state.stage(id).output && !op_of(s, id).is_reduction();
}

std::vector<Next> with_plan(const Sketch& s, const Plan& plan) {
  Sketch next = s;
  next.plans.push_back(plan);
  return {after(std::move(next), plan.stage)};
}

std::vector<Next> leave(const Sketch& s, StageId id) { return {after(s, id)}; }

// ---- transforms ----------------------------------------------------------------------------------

// A stage that chooses among the rows of a small matrix by its own axes (Winograd's transforms).
Applies is_transform(const Sketch& s, StageId id) {
  if (!is_computed(s, id)) return Applies::kNo;
  return matrix_loops(s.state, id).empty() ? Applies::kNo : Applies::kOnly;
}
std::vector<Next> transform(const Sketch& s, StageId id) {
  return with_plan(s, {id, PlanKind::kTransform});
}

Applies is_part_of_transform(const Sketch& s, StageId id) {
  if (!is_between(s, id)) return Applies::kNo;
  const auto readers = s.state.readers(id);
  const Plan* reader = readers.size() == 1 ? plan_of(s, readers[0]) : nullptr;
  const bool is = reader != nullptr &&
                  (reader->kind == PlanKind::kTransform || reader->kind == PlanKind::kInThread);
  return is ? Applies::kOnly : Applies::kNo;
}
std::vector<Next> keep_in_thread(const Sketch& s, StageId id) {
  return with_plan(s, {id, PlanKind::kInThread});
}

// ---- operands ------------------------------------------------------------------------------------

// Annotation fetches it into shared memory, or inlines it.
Applies is_operand(const Sketch& s, StageId id) {
  if (!is_between(s, id)) return Applies::kNo;
  const auto readers = s.state.readers(id);
  const Plan* reader = readers.size() == 1 ? plan_of(s, readers[0]) : nullptr;
  return reader != nullptr && reader->kind == PlanKind::kTile ? Applies::kOnly : Applies::kNo;
}

Applies may_inline(const Sketch& s, StageId id) {
  return is_between(s, id) ? Applies::kOnly : Applies::kNo;
}
std::vector<Next> inline_stage(const Sketch& s, StageId id) {
  Sketch next = s;
  if (!next.add(schedule::ComputeInline{StageRef{id}})) return {};
  return {after(std::move(next), id)};
}

// ---- rows ----------------------------------------------------------------------------------------

// The result, and a reduction along rows of it that is long enough for the threads of a block.
bool is_row_reduction(const Sketch& s, const te::ComputeOp& op, const te::ComputeOp& out) {
  const int64_t warp = s.state.target().gpu().warp_threads;
  if (!op.is_reduction() || te::has_data_reuse(op) || elements_of(op.reduce_axes) <= warp)
    return false;
  const size_t rows = row_axes(s.state.dag(), op, out);
  return rows > 0 && rows < out.axes.size();
}

Applies has_rows(const Sketch& s, StageId id) {
  const te::ComputeOp* out = definition(s, id);
  if (out == nullptr || !s.state.stage(id).output || out->is_reduction() || !s.plans.empty())
    return Applies::kNo;
  const auto& ops = s.state.dag().ops;
  const bool any = std::any_of(ops.begin(), ops.end(),
                               [&](const te::OpRef& op) { return is_row_reduction(s, *op, *out); });
  return any ? Applies::kYes : Applies::kNo;
}

// Part of the rows that are planned.
Applies lies_in_rows(const Sketch& s, StageId id) {
  const te::ComputeOp* op = definition(s, id);
  const bool rows = !s.plans.empty() && s.plans.front().kind == PlanKind::kRows;
  if (!rows || op == nullptr || !is_reduction(s, id)) return Applies::kNo;
  const te::ComputeOp* out = definition(s, s.plans.front().stage);
  if (!is_row_reduction(s, *op, *out)) return Applies::kNo;
  const Plan& other = s.plans[s.plans.size() > 1 ? 1 : 0];
  const bool alike = other.kind != PlanKind::kRows || s.plans.size() == 1 ||
                     row_axes(s.state.dag(), *op, *out) ==
                         row_axes(s.state.dag(), *definition(s, other.stage), *out);
  return alike ? Applies::kOnly : Applies::kNo;
}
std::vector<Next> plan_rows(const Sketch& s, StageId id) {
  return with_plan(s, {id, PlanKind::kRows});
}

// ---- sums ----------------------------------------------------------------------------------------

std::vector<Next> whole_and_split(const Sketch& s, StageId id, PlanKind kind, bool may_split) {
  std::vector<Next> out = with_plan(s, {id, kind});
  if (!may_split || split_lengths(op_of(s, id)).empty()) return out;
  for (Next& n : with_plan(s, {id, kind, true})) out.push_back(std::move(n));
  return out;
}

// More is added up than there are results for the threads of a block.
Applies may_share(const Sketch& s, StageId id) {
  if (!is_reduction(s, id) || op_of(s, id).axes.empty()) return Applies::kNo;
  const te::ComputeOp& op = op_of(s, id);
  const target::Gpu& gpu = s.state.target().gpu();
  const int64_t results = elements_of(op.axes), length = elements_of(op.reduce_axes);
  const bool may = needs_tiling(s, id) ? results <= gpu.threads_per_block && results < length
                                       : length > gpu.warp_threads;
  return may ? Applies::kYes : Applies::kNo;
}
std::vector<Next> share(const Sketch& s, StageId id) {
  const int64_t results = elements_of(op_of(s, id).axes);
  return whole_and_split(s, id, PlanKind::kShare,
                         results <= s.state.target().gpu().multiprocessors);
}

Applies may_tile(const Sketch& s, StageId id) {
  return is_reduction(s, id) && needs_tiling(s, id) ? Applies::kOnly : Applies::kNo;
}
std::vector<Next> tile(const Sketch& s, StageId id) {
  const target::Gpu& gpu = s.state.target().gpu();
  const int64_t busy = int64_t{4} * gpu.multiprocessors * gpu.threads_per_block;
  return whole_and_split(s, id, PlanKind::kTile, elements_of(op_of(s, id).axes) <= busy);
}

Applies always(const Sketch&, StageId) { return Applies::kYes; }

constexpr SketchRule kRules[] = {
    {"part_of_transform", is_part_of_transform, keep_in_thread},
    {"transform", is_transform, transform},
    {"operand", is_operand, leave},
    {"inline", may_inline, inline_stage},
    {"rows", has_rows, plan_rows},
    {"in_rows", lies_in_rows, plan_rows},
    {"share", may_share, share},
    {"tile", may_tile, tile},
    {"elements", always, leave},
};

}  // namespace

std::span<const SketchRule> gpu_sketch_rules() { return kRules; }

}  // namespace tenon::search
