// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/fuse.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Fuse::check(const State& s) const {
  if (loops.size() < 2) {
    TENON_TRY(check_computed(s, stage));
    return Illegal{.code = IllegalCode::kBadPermutation, .stage = stage.id, .limit = 2};
  }
  for (const LoopRef l : loops) TENON_TRY(check_free_leaf(s, stage, l));
  const Stage& st = s[stage];
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    const LoopId l = loops[i].id;
    if (st.position(loops[i + 1].id) != st.position(l) + 1) {
      return Illegal{.code = IllegalCode::kNotAdjacent, .stage = stage.id, .loop = l};
    }
    if (st.loop(l).kind != st.loop(loops[i + 1].id).kind) {
      return Illegal{.code = IllegalCode::kMixedKinds, .stage = stage.id, .loop = l};
    }
    if (!s.attached_to(stage.id, l).empty() || st.init_at == loops[i + 1].id) {
      return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = l};
    }
    for (const PrefetchNote& p : st.prefetches) {
      if (p.loop == l || p.loop == loops[i + 1].id) {
        return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = p.loop};
      }
    }
  }
  return {};
}

void Fuse::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  Relation r{RelationKind::kFuse, static_cast<LoopId>(st.loops.size()), {}, {}};
  Loop fused = st.loop(loops[0].id);
  fused.extent = 1;
  fused.parent = loops[0].id;
  fused.part = -1;
  for (const LoopRef l : loops) {
    fused.extent *= st.loop(l.id).extent;
    st.loop(l.id).leaf = false;
    r.many.push_back(l.id);
  }
  const auto at = st.leaves.begin() + st.position(loops[0].id);
  *at = r.one;
  st.leaves.erase(at + 1, at + static_cast<std::ptrdiff_t>(loops.size()));
  if (st.init_at == loops[0].id) st.init_at = r.one;
  const LoopId result = r.one;
  st.loops.push_back(fused);
  st.relations.push_back(std::move(r));
  move_attachments(s, stage.id, loops.back().id, result);
}

}  // namespace tenon::schedule
