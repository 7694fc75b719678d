// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/layout_store_at.h"

#include "ir/build.h"
#include "schedule/layout_rewrite.h"
#include "schedule/rewrite.h"

namespace tenon::schedule {

Result<void> LayoutStoreAt::check(const State& s) const {
  if (!s.has(stage)) return Illegal{.code = IllegalCode::kNoSuchStage, .value = stage.id};
  TENON_TRY(check_layout(s, host, {layout::LayoutOp::kStoreAt, dim, {1}}));
  const Stage& guest = s[stage];
  const Stage& st = s[host];
  const Illegal bad{
      .code = IllegalCode::kNotAGuest, .stage = stage.id, .other = host.id, .value = dim};
  if (stage == host || !guest.is_input() || !st.is_input() || guest.stored_in >= 0) return bad;
  if (!guest.layout.is_identity() || !st.layout.is_identity() || guest.transform != nullptr)
    return bad;
  if (guest.buffer.dtype() != st.buffer.dtype() || guest.buffer.rank() + 1 != st.buffer.rank())
    return bad;
  std::vector<int64_t> slab = st.buffer.shape();
  slab.erase(slab.begin() + dim);
  if (slab != guest.buffer.shape()) return bad;
  for (const StageId id : s.order()) {  // one guest per host, and no guest is a host
    if (s.stage(id).stored_in == host.id || s.stage(id).stored_in == stage.id) return bad;
  }
  return {};
}

void LayoutStoreAt::apply(State& s) const {
  const int64_t slab = s[host].buffer.shape()[static_cast<size_t>(dim)];
  apply_layout(s, host, {layout::LayoutOp::kStoreAt, dim, {1}});
  const ir::Buffer from = s[stage].buffer;
  const ir::Buffer to = s[host].buffer;
  for (const StageId r : s.readers(stage.id)) {
    rewrite_reads(s, r, from, [&](const ir::Load& read) {
      std::vector<ir::Expr> indices = read.indices;
      indices.insert(indices.begin() + dim, ir::Expr(slab));
      return ir::load(to, indices, read.predicate);
    });
  }
  s.edit(stage.id).stored_in = host.id;
}

}  // namespace tenon::schedule
