// SPDX-License-Identifier: Apache-2.0
#include "schedule/inner_loops.h"

#include "ir/thread_tags.h"
#include "ir/visit.h"
#include "schedule/rules.h"

namespace tenon::schedule {
namespace {

// What the threads of a block share is computed for all of them: their loops run, wherever they stand.
void add_thread_loops(const State& s, const Bounds& b, const Stage& st, VarSet& inner) {
  const Stage* host = &s.stage(st.at_stage);
  int pos = host->position(st.at_loop);
  for (;;) {
    for (int i = 0; i <= pos; ++i) {
      const LoopId l = host->leaves[static_cast<size_t>(i)];
      if (!ir::is_thread_tag(host->loop(l).tag)) continue;
      inner.insert(b.stages[static_cast<size_t>(host->id)].vars[static_cast<size_t>(l)].node());
    }
    if (host->place != Place::kAt) return;
    const Stage& next = s.stage(host->at_stage);
    pos = next.position(host->at_loop);
    host = &next;
  }
}

}  // namespace

bool uses_any(const ir::Expr& e, const VarSet& vars) {
  if (const auto* v = e.as<ir::VarNode>()) return vars.contains(v);
  bool found = false;
  ir::for_each_child(e, [&](const ir::Expr& c) { found = found || uses_any(c, vars); });
  return found;
}

VarSet inner_loops(const State& s, const Bounds& b, const Stage& st) {
  VarSet inner;
  const int pos = s.stage(st.at_stage).position(st.at_loop);
  for (const StageId id : s.order()) {
    const Stage& other = s.stage(id);
    if (id == st.id || other.is_input() || other.place == Place::kInlined) continue;
    if (!is_below(s, id, st.at_stage, pos)) continue;
    const StageBounds& ob = b.stages[static_cast<size_t>(id)];
    if (ob.vars.empty()) continue;  // comes before this stage: not a reader
    for (size_t i = 0; i < other.leaves.size(); ++i) {
      const size_t l = static_cast<size_t>(other.leaves[i]);
      // Outside, a loop of one iteration is as good as none.
      if (id == st.at_stage && static_cast<int>(i) <= pos && ob.extents[l] > 1) continue;
      inner.insert(ob.vars[l].node());
    }
  }
  if (st.scope == ir::Scope::kShared) add_thread_loops(s, b, st, inner);
  return inner;
}

}  // namespace tenon::schedule
