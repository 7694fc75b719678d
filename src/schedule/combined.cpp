// SPDX-License-Identifier: Apache-2.0
#include "schedule/combined.h"

#include <array>

#include "ir/thread_tags.h"

namespace tenon::schedule {

LoopId combined_loop(const Stage& st) {
  for (const LoopId l : st.leaves) {
    const Loop& loop = st.loop(l);
    if (loop.kind == LoopKind::kReduce && loop.mark == Mark::kThread) return l;
  }
  return -1;
}

std::vector<RowLoop> rows_of(const State& s, const Stage& st) {
  std::vector<RowLoop> rows;
  std::array<bool, 3> found = {true, false, false};
  const Stage* at = &st;
  size_t depth = st.leaves.size();
  for (;;) {
    while (depth > 0) {
      const LoopId l = at->leaves[--depth];
      const ir::ThreadTag tag = at->loop(l).tag;
      if (!ir::is_real_thread(tag) || found[ir::dimension_of(tag)]) continue;
      found[ir::dimension_of(tag)] = true;
      rows.push_back({at->id, l});
    }
    if (at->place != Place::kAt) return rows;
    const Stage& host = s.stage(at->at_stage);
    depth = static_cast<size_t>(host.position(at->at_loop)) + 1;
    at = &host;
  }
}

int64_t meeting_elements(const State& s, const Bounds& b, const Stage& st) {
  const LoopId l = combined_loop(st);
  const int64_t warp = s.target().gpu().warp_threads;
  if (l < 0 || st.loop(l).extent <= warp) return 0;
  int64_t n = st.loop(l).extent / warp;
  for (const RowLoop& row : rows_of(s, st))
    n *= b.stages[static_cast<size_t>(row.stage)].extents[static_cast<size_t>(row.loop)];
  return n;
}

}  // namespace tenon::schedule
