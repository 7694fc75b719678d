// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/compute_inline.h"

#include "arith/simplify.h"
#include "ir/visit.h"
#include "schedule/rewrite.h"
#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> ComputeInline::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  const Stage& st = s[stage];
  if (st.output) return Illegal{.code = IllegalCode::kIsOutput, .stage = stage.id};
  if (st.op->is_reduction()) return Illegal{.code = IllegalCode::kHasReduction, .stage = stage.id};
  for (const LoopId l : st.leaves) {
    if (!s.attached_to(stage.id, l).empty()) {
      return Illegal{.code = IllegalCode::kAttached, .stage = stage.id, .loop = l};
    }
  }
  // The stored zeros of a padded layout would be lost.
  if (st.zero_padding) return Illegal{.code = IllegalCode::kNotStored, .stage = stage.id};
  return {};
}

void ComputeInline::apply(State& s) const {
  const te::OpRef op = s[stage].op;
  const ir::Buffer buffer = s[stage].buffer;
  rewrite_all_reads(s, buffer, [&](const ir::Load& read, const te::ComputeOp& reader) {
    ir::VarMap map;
    for (size_t d = 0; d < op->axes.size(); ++d) map[op->axes[d].var.node()] = read.indices[d];
    return arith::simplify(ir::substitute(op->body, map), reader.ranges());
  });
  Stage& st = s.edit(stage.id);
  st.place = Place::kInlined;
  st.at_stage = -1;
  st.at_loop = -1;
}

}  // namespace tenon::schedule
