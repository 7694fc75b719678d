// SPDX-License-Identifier: Apache-2.0
#include "schedule/rules.h"

#include "arith/interval.h"

namespace tenon::schedule {

Result<void> check_computed(const State& s, StageRef stage) {
  if (!s.has(stage)) return Illegal{.code = IllegalCode::kNoSuchStage, .value = stage.id};
  if (s[stage].is_input()) return Illegal{.code = IllegalCode::kPlaceholder, .stage = stage.id};
  if (s[stage].place == Place::kInlined) {
    return Illegal{.code = IllegalCode::kInlined, .stage = stage.id};
  }
  return {};
}

Result<void> check_leaf(const State& s, StageRef stage, LoopRef loop) {
  TENON_TRY(check_computed(s, stage));
  if (!s[stage].has_loop(loop.id)) {
    return Illegal{.code = IllegalCode::kNoSuchLoop, .stage = stage.id, .value = loop.id};
  }
  if (!s[stage].loop(loop.id).leaf) {
    return Illegal{.code = IllegalCode::kNotALeaf, .stage = stage.id, .loop = loop.id};
  }
  return {};
}

Result<void> check_free_leaf(const State& s, StageRef stage, LoopRef loop) {
  TENON_TRY(check_leaf(s, stage, loop));
  const Stage& st = s[stage];
  if (st.loop(loop.id).mark != Mark::kNone || st.pipelined == loop.id) {
    return Illegal{.code = IllegalCode::kAnnotated, .stage = stage.id, .loop = loop.id};
  }
  return {};
}

Result<void> check_lanes(const State& s, StageRef stage, LoopRef loop) {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const int64_t most = s.target().limits.lanes;
  const int64_t extent = s[stage].loop(loop.id).extent;
  // Of an attached stage the extent is known once the program is complete; check_program looks then.
  if (extent < 2 || (extent > most && s[stage].place != Place::kAt)) {
    return Illegal{.code = IllegalCode::kBadLanes,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = extent,
                   .limit = most};
  }
  return {};
}

Result<void> check_hosts_nothing(const State& s, StageRef stage) {
  for (const StageId id : s.order()) {
    const Stage& other = s.stage(id);
    if (other.place == Place::kAt && other.at_stage == stage.id) {
      return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = other.at_loop};
    }
  }
  return {};
}

namespace {

// A parallel loop of `st` outside position `pos`, or around the place where it is attached.
bool inside_parallel(const State& s, const Stage& st, int pos) {
  for (int i = 0; i < pos; ++i) {
    if (st.loop(st.leaves[static_cast<size_t>(i)]).mark == Mark::kParallel) return true;
  }
  if (st.place != Place::kAt) return false;
  const Stage& host = s.stage(st.at_stage);
  return inside_parallel(s, host, host.position(st.at_loop) + 1);
}

}  // namespace

Result<void> check_attachments(const State& s) {
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (st.place != Place::kAt) continue;
    const Stage& host = s.stage(st.at_stage);
    const int pos = host.position(st.at_loop);
    for (const StageId r : s.readers(id)) {
      if (is_below(s, r, host.id, pos)) continue;
      return Illegal{
          .code = IllegalCode::kNotAConsumer, .stage = id, .loop = st.at_loop, .other = host.id};
    }
    for (int i = 0; i <= pos; ++i) {
      if (host.loop(host.leaves[static_cast<size_t>(i)]).mark != Mark::kVectorize) continue;
      return Illegal{.code = IllegalCode::kInsideVector, .stage = host.id, .loop = st.at_loop};
    }
    for (const LoopId l : st.leaves) {
      if (st.loop(l).mark == Mark::kParallel && inside_parallel(s, host, pos + 1)) {
        return Illegal{.code = IllegalCode::kNestedParallel, .stage = id, .loop = l};
      }
    }
  }
  return {};
}

Result<void> check_scope(const State& s, StageRef stage, ir::Scope scope) {
  if (scope != ir::Scope::kShared || !s.target().is_cpu()) return {};
  return Illegal{
      .code = IllegalCode::kBadScope, .stage = stage.id, .value = static_cast<int64_t>(scope)};
}

Result<void> check_set_scope(const State& s, StageRef stage, ir::Scope scope) {
  TENON_TRY(check_computed(s, stage));
  if (s[stage].output) return Illegal{.code = IllegalCode::kIsOutput, .stage = stage.id};
  TENON_TRY(check_scope(s, stage, scope));
  // Where a stage is whole, its memory is the workspace.
  if (scope == ir::Scope::kGlobal || s[stage].place != Place::kAt) {
    return Illegal{
        .code = IllegalCode::kBadScope, .stage = stage.id, .value = static_cast<int64_t>(scope)};
  }
  return {};
}

int64_t aligned_stride(const Stage& st, size_t d, int64_t dense) {
  if (st.align_dim != static_cast<int64_t>(d)) return dense;
  return dense + arith::floor_mod(st.align_offset - dense, st.align_factor);
}

bool computes_whole_box(const State& s, const Stage& st) {
  return !s.target().is_cpu() && st.place == Place::kAt;
}

bool is_stored_twice(const State& s, const Stage& st) {
  return st.place == Place::kAt && st.scope == ir::Scope::kShared &&
         s.stage(st.at_stage).pipelined == st.at_loop;
}

void move_attachments(State& s, StageId stage, LoopId from, LoopId to) {
  for (const StageId id : s.attached_to(stage, from)) s.edit(id).at_loop = to;
}

bool is_below(const State& s, StageId inner, StageId outer, int pos) {
  if (inner == outer) return true;
  StageId id = inner;
  while (s.stage(id).place == Place::kAt) {
    const Stage& st = s.stage(id);
    if (st.at_stage == outer) return s.stage(outer).position(st.at_loop) >= pos;
    id = st.at_stage;
  }
  return false;
}

}  // namespace tenon::schedule
