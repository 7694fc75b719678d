// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/reorder.h"

#include <algorithm>

#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

// The vectorised loop that would have another than unrolled and tensorised loops inside; -1 if there is none.
LoopId disturbed_vector(const Stage& st, const std::vector<LoopId>& leaves) {
  LoopId vector = -1;
  for (const LoopId l : leaves) {
    const Mark mark = st.loop(l).mark;
    if (vector >= 0 && mark != Mark::kUnroll && mark != Mark::kTensorize) return vector;
    if (st.loop(l).mark == Mark::kVectorize) vector = l;
  }
  return -1;
}

// The tensorised loop that would not be innermost; -1 if there is none.
LoopId disturbed_tensor(const Stage& st, const std::vector<LoopId>& leaves) {
  for (const LoopId l : leaves) {
    if (st.loop(l).mark == Mark::kTensorize && l != leaves.back()) return l;
  }
  return -1;
}

std::vector<LoopId> permuted(const Stage& st, const std::vector<LoopRef>& loops) {
  std::vector<LoopId> leaves = st.leaves;
  size_t next = 0;
  for (LoopId& l : leaves) {
    if (std::find(loops.begin(), loops.end(), LoopRef{l}) != loops.end()) l = loops[next++].id;
  }
  return leaves;
}

}  // namespace

Result<void> Reorder::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  for (size_t i = 0; i < loops.size(); ++i) {
    TENON_TRY(check_leaf(s, stage, loops[i]));
    if (std::find(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(i), loops[i]) !=
        loops.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Illegal{.code = IllegalCode::kBadPermutation, .stage = stage.id, .limit = 1};
    }
  }
  if (loops.empty()) {
    return Illegal{.code = IllegalCode::kBadPermutation, .stage = stage.id, .limit = 1};
  }
  const Stage& st = s[stage];
  const std::vector<LoopId> leaves = permuted(st, loops);
  if (const LoopId l = disturbed_vector(st, leaves); l >= 0) {
    return Illegal{.code = IllegalCode::kNotInnermost, .stage = stage.id, .loop = l};
  }
  if (const LoopId l = disturbed_tensor(st, leaves); l >= 0) {
    return Illegal{.code = IllegalCode::kNotInLanes, .stage = stage.id, .loop = l};
  }
  // The initial value must still be set outside every reduction loop.
  bool reduction_seen = false;
  for (const LoopId l : leaves) {
    if (l == st.init_at && reduction_seen) {
      return Illegal{.code = IllegalCode::kBadInitLoop, .stage = stage.id, .loop = l};
    }
    reduction_seen |= st.loop(l).kind == LoopKind::kReduce;
  }
  if (check_hosts_nothing(s, stage)) return {};
  State moved = s;
  apply(moved);
  return check_attachments(moved);
}

void Reorder::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  st.leaves = permuted(st, loops);
}

}  // namespace tenon::schedule
