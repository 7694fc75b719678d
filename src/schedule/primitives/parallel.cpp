// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/parallel.h"

#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

bool has_parallel(const Stage& st, int up_to) {
  for (int i = 0; i < up_to; ++i) {
    if (st.loop(st.leaves[static_cast<size_t>(i)]).mark == Mark::kParallel) return true;
  }
  return false;
}

// A parallel loop around the place where `id` is attached.
bool parallel_outside(const State& s, StageId id) {
  while (s.stage(id).place == Place::kAt) {
    const Stage& host = s.stage(s.stage(id).at_stage);
    if (has_parallel(host, host.position(s.stage(id).at_loop) + 1)) return true;
    id = host.id;
  }
  return false;
}

}  // namespace

Result<void> Parallel::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const Stage& st = s[stage];
  if (st.loop(loop.id).kind == LoopKind::kReduce) {
    return Illegal{.code = IllegalCode::kReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  const Illegal nested{.code = IllegalCode::kNestedParallel, .stage = stage.id, .loop = loop.id};
  if (has_parallel(st, static_cast<int>(st.leaves.size())) || parallel_outside(s, stage.id))
    return nested;
  // Registers belong to one thread: no parallel loop may lie between them and their readers.
  if (st.scope == ir::Scope::kRegister) {
    return Illegal{.code = IllegalCode::kRegisterShared,
                   .stage = stage.id,
                   .loop = loop.id,
                   .other = stage.id};
  }
  for (const StageId id : s.order()) {
    const Stage& inner = s.stage(id);
    if (inner.place == Place::kAt && is_below(s, id, stage.id, st.position(loop.id)) &&
        id != stage.id && has_parallel(inner, static_cast<int>(inner.leaves.size()))) {
      return nested;
    }
  }
  return {};
}

void Parallel::apply(State& s) const { s.edit(stage.id).loop(loop.id).mark = Mark::kParallel; }

}  // namespace tenon::schedule
