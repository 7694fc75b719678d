// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/cache_read.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> CacheRead::check(const State& s) const {
  if (!s.has(stage)) return Illegal{.code = IllegalCode::kNoSuchStage, .value = stage.id};
  if (s[stage].place == Place::kInlined)
    return Illegal{.code = IllegalCode::kInlined, .stage = stage.id};
  if (s[stage].stored_in >= 0) return Illegal{.code = IllegalCode::kNotStored, .stage = stage.id};
  if (s[stage].place == Place::kAt) {
    return Illegal{.code = IllegalCode::kIsAttached,
                   .stage = stage.id,
                   .loop = s[stage].at_loop,
                   .other = s[stage].at_stage};
  }
  TENON_TRY(check_scope(s, stage, scope));
  const auto all = s.readers(stage.id);
  for (const StageRef r : readers) {
    if (std::find(all.begin(), all.end(), r.id) == all.end()) {
      return Illegal{.code = IllegalCode::kNotAReader, .stage = stage.id, .other = r.id};
    }
  }
  if (all.empty()) return Illegal{.code = IllegalCode::kNoReaders, .stage = stage.id};
  return {};
}

void CacheRead::apply(State& s) const {
  std::vector<StageId> users;
  for (const StageRef r : readers) users.push_back(r.id);
  if (users.empty()) users = s.readers(stage.id);
  const Stage& src = s[stage];
  Stage cache;
  cache.name = s.fresh_name(src.name + ".read");
  cache.buffer = ir::Buffer::make(cache.name, src.buffer.dtype(), src.buffer.shape(), scope);
  std::vector<te::Axis> like;
  if (src.op != nullptr) like = src.op->axes;
  cache.op = copy_op(src.buffer, cache.buffer, like);
  cache.layout = layout::Layout(cache.buffer.shape());
  cache.scope = scope;
  if (src.holds.defined()) {
    ir::VarMap map;
    for (size_t d = 0; d < src.op->axes.size(); ++d) {
      map[src.op->axes[d].var.node()] = cache.op->axes[d].var;
    }
    cache.holds = ir::substitute(src.holds, map);
  }
  reset_loops(cache);
  const ir::Buffer from = src.buffer;
  const ir::Buffer to = cache.buffer;
  for (const StageId r : users) {
    rewrite_reads(s, r, from,
                  [&](const ir::Load& read) { return ir::load(to, read.indices, read.predicate); });
  }
  s.insert(std::move(cache), stage.id, false);
}

}  // namespace tenon::schedule
