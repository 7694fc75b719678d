// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/split.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Split::check(const State& s) const {
  TENON_TRY(check_free_leaf(s, stage, loop));
  const int64_t extent = s[stage].loop(loop.id).extent;
  const auto bad = [&](int64_t v) {
    return Illegal{.code = IllegalCode::kBadFactor,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = v,
                   .limit = extent};
  };
  const size_t most = parts ? 1 : 8;
  if (factors.empty() || factors.size() > most) {
    return Illegal{.code = IllegalCode::kBadFactorCount,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = static_cast<int64_t>(factors.size()),
                   .limit = static_cast<int64_t>(most)};
  }
  for (const PrefetchNote& p : s[stage].prefetches) {
    if (p.loop == loop.id)
      return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = loop.id};
  }
  int64_t product = 1;
  for (const int64_t f : factors) {
    if (f < 1 || f > extent) return bad(f);
    // Blocks longer than the loop would be empty but for the first.
    if (f > (2 * extent - 1) / product) return bad(f);
    product *= f;
  }
  return {};
}

void Split::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  const LoopId first = static_cast<LoopId>(st.loops.size());
  int64_t inner = 1;
  for (const int64_t f : factors) inner *= f;
  const int64_t extent = st.loop(loop.id).extent;
  Relation r{parts ? RelationKind::kParts : RelationKind::kSplit, loop.id, {}, factors};
  for (size_t j = 0; j <= factors.size(); ++j) {
    Loop part = st.loop(loop.id);
    part.parent = loop.id;
    part.part = static_cast<int32_t>(j);
    const int64_t outer = parts ? factors[0] : (extent + inner - 1) / inner;
    part.extent = j == 0 ? outer : parts ? (extent + outer - 1) / outer : factors[j - 1];
    r.many.push_back(first + static_cast<LoopId>(j));
    st.loops.push_back(part);
  }
  st.loop(loop.id).leaf = false;
  const auto at = st.leaves.begin() + st.position(loop.id);
  st.leaves.insert(st.leaves.erase(at), r.many.begin(), r.many.end());
  const LoopId innermost = r.many.back();
  if (st.init_at == loop.id) st.init_at = r.many.front();
  st.relations.push_back(std::move(r));
  move_attachments(s, stage.id, loop.id, innermost);
}

}  // namespace tenon::schedule
