// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/parallel.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Parallel::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const Stage& st = s[stage];
  if (!s.target().is_cpu()) {
    return Illegal{.code = IllegalCode::kNoCores, .stage = stage.id, .loop = loop.id};
  }
  if (st.loop(loop.id).kind == LoopKind::kReduce) {
    return Illegal{.code = IllegalCode::kReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  for (const LoopId l : st.leaves) {
    if (st.loop(l).mark == Mark::kParallel) {
      return Illegal{.code = IllegalCode::kNestedParallel, .stage = stage.id, .loop = loop.id};
    }
  }
  // Registers belong to one thread: no parallel loop may lie between them and their readers.
  if (st.scope == ir::Scope::kRegister) {
    return Illegal{.code = IllegalCode::kRegisterShared,
                   .stage = stage.id,
                   .loop = loop.id,
                   .other = stage.id};
  }
  State marked = s;
  apply(marked);
  return check_attachments(marked);
}

void Parallel::apply(State& s) const { s.edit(stage.id).loop(loop.id).mark = Mark::kParallel; }

}  // namespace tenon::schedule
