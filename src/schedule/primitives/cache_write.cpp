// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/cache_write.h"

#include "ir/visit.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> CacheWrite::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  TENON_TRY(check_scope(s, stage, scope));
  if (s[stage].loops_touched())
    return Illegal{.code = IllegalCode::kLoopsTransformed, .stage = stage.id};
  return check_hosts_nothing(s, stage);
}

void CacheWrite::apply(State& s) const {
  const Stage& old = s[stage];
  Stage cache;
  cache.name = s.fresh_name(old.name + ".cache");
  cache.buffer = ir::Buffer::make(cache.name, old.buffer.dtype(), old.buffer.shape(), scope);
  cache.op = with_output(*old.op, cache.buffer);
  cache.layout = layout::Layout(cache.buffer.shape());
  cache.scope = scope;
  cache.holds = old.holds;
  reset_loops(cache);
  const te::OpRef copy = copy_op(cache.buffer, old.buffer, old.op->axes);
  if (old.holds.defined()) {
    ir::VarMap map;
    for (size_t d = 0; d < copy->axes.size(); ++d) {
      map[cache.op->axes[d].var.node()] = copy->axes[d].var;
    }
    s.edit(stage.id).holds = ir::substitute(old.holds, map);
  }
  Stage& st = s.edit(stage.id);
  st.op = copy;
  reset_loops(st);
  s.insert(std::move(cache), stage.id, true);
}

}  // namespace tenon::schedule
