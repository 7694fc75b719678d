// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/compute_at.h"

#include "schedule/bounds.h"
#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

bool parallel_at_or_outside(const State& s, StageId id, LoopId loop) {
  const Stage& st = s.stage(id);
  for (const LoopId l : st.leaves) {
    if (st.loop(l).mark == Mark::kParallel) return true;
    if (l == loop) break;
  }
  return st.place == Place::kAt && parallel_at_or_outside(s, st.at_stage, st.at_loop);
}

bool has_parallel_inside(const State& s, StageId id) {
  const Stage& st = s.stage(id);
  for (const LoopId l : st.leaves) {
    if (st.loop(l).mark == Mark::kParallel) return true;
    for (const StageId a : s.attached_to(id, l)) {
      if (has_parallel_inside(s, a)) return true;
    }
  }
  return false;
}

}  // namespace

Result<void> ComputeAt::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  if (s[stage].output) return Illegal{.code = IllegalCode::kIsOutput, .stage = stage.id};
  TENON_TRY(check_leaf(s, at_stage, at_loop));
  const Stage& host = s[at_stage];
  const int pos = host.position(at_loop.id);
  if (is_below(s, at_stage.id, stage.id, 0)) {
    return Illegal{.code = IllegalCode::kCyclicAttach, .stage = stage.id, .other = at_stage.id};
  }
  const auto readers = s.readers(stage.id);
  if (readers.empty()) return Illegal{.code = IllegalCode::kNoReaders, .stage = stage.id};
  for (const StageId r : readers) {
    if (!is_below(s, r, at_stage.id, pos)) {
      return Illegal{.code = IllegalCode::kNotAConsumer,
                     .stage = stage.id,
                     .loop = at_loop.id,
                     .other = at_stage.id};
    }
  }
  for (int i = 0; i <= pos; ++i) {
    if (host.loop(host.leaves[static_cast<size_t>(i)]).mark == Mark::kVectorize) {
      return Illegal{.code = IllegalCode::kInsideVector, .stage = at_stage.id, .loop = at_loop.id};
    }
  }
  if (has_parallel_inside(s, stage.id) && parallel_at_or_outside(s, at_stage.id, at_loop.id)) {
    return Illegal{.code = IllegalCode::kNestedParallel, .stage = at_stage.id, .loop = at_loop.id};
  }
  State moved = s;
  apply(moved);
  // What it reads may be attached too, but only if it is itself.
  if (s[stage].place == Place::kAt) TENON_TRY(check_attachments(moved));
  const auto bounds = infer_bounds(moved);
  if (!bounds) return bounds.illegal();
  return {};
}

void ComputeAt::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  st.place = Place::kAt;
  st.at_stage = at_stage.id;
  st.at_loop = at_loop.id;
  if (st.scope == ir::Scope::kGlobal) st.scope = ir::Scope::kLocal;
}

}  // namespace tenon::schedule
