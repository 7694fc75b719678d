// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/bind.h"

#include "schedule/rules.h"

namespace tenon::schedule {

namespace {

// A warp exchanges four bytes at once, by halves; several warps are whole ones.
Result<void> check_combined(const State& s, const Bind& b) {
  const Stage& st = s[b.stage];
  const target::Gpu& gpu = s.target().gpu();
  bool alone = b.tag == ir::ThreadTag::kThreadX;
  for (const LoopId l : st.leaves)
    alone = alone && (l == b.loop.id || st.loop(l).kind == LoopKind::kSpatial);
  if (!alone)
    return Illegal{.code = IllegalCode::kReductionLoop, .stage = st.id, .loop = b.loop.id};
  if (st.buffer.dtype().bytes() != 4) {
    return Illegal{
        .code = IllegalCode::kExchange, .stage = st.id, .value = st.buffer.dtype().bytes()};
  }
  const int64_t n = st.loop(b.loop.id).extent, warp = gpu.warp_threads;
  const bool halves = n <= warp && (n & (n - 1)) == 0;
  if (!halves && (n % warp != 0 || n > gpu.threads_per_block)) {
    return Illegal{.code = IllegalCode::kCombined,
                   .stage = st.id,
                   .loop = b.loop.id,
                   .value = n,
                   .limit = warp};
  }
  return {};
}

}  // namespace

Result<void> Bind::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const bool reduces = s[stage].loop(loop.id).kind == LoopKind::kReduce;
  if (reduces && s.target().is_cpu()) {
    return Illegal{.code = IllegalCode::kReductionLoop, .stage = stage.id, .loop = loop.id};
  }
  if (s.target().is_cpu()) {
    return Illegal{.code = IllegalCode::kUnsupportedHere, .stage = stage.id, .loop = loop.id};
  }
  if (reduces) TENON_TRY(check_combined(s, *this));
  for (const LoopId l : s[stage].leaves) {
    if (tag == ir::ThreadTag::kVThread || s[stage].loop(l).tag != tag) continue;
    return Illegal{.code = IllegalCode::kTagTwice, .stage = stage.id, .loop = l};
  }
  return {};
}

void Bind::apply(State& s) const {
  Loop& l = s.edit(stage.id).loop(loop.id);
  l.mark = Mark::kThread;
  l.tag = tag;
}

}  // namespace tenon::schedule
