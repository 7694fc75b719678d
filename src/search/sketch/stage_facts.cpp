// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/stage_facts.h"

#include "te/access.h"

namespace tenon::search {

using schedule::Stage;
using schedule::StageId;

bool is_computed(const Sketch& s, StageId id) {
  const Stage& st = s.state.stage(id);
  return !st.is_input() && st.place != schedule::Place::kInlined;
}

namespace {

// The last element-wise op after a sum of products takes the tiles of the sum, even if it reads two vectors besides.
bool follows_tiles(const Sketch& s, const te::ComputeOp& op) {
  if (op.is_reduction()) return false;
  for (const StageId id : s.state.order()) {
    const Stage& st = s.state.stage(id);
    if (st.op != nullptr && st.op->is_reduction() && te::is_elementwise_match(*st.op, op) &&
        te::has_data_reuse(*st.op)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool needs_tiling(const Sketch& s, StageId id) {
  if (!is_computed(s, id)) return false;
  const te::ComputeOp& op = *s.state.stage(id).op;
  return te::has_data_reuse(op) && !follows_tiles(s, op);
}

StageId fusible_reader(const schedule::State& s, StageId id) {
  const auto readers = s.readers(id);
  if (readers.size() != 1 || s.stage(id).output) return -1;
  const Stage& reader = s.stage(readers[0]);
  const te::ComputeOp& op = *s.stage(id).op;
  const bool both = op.is_reduction() && reader.op->is_reduction();
  return !both && te::is_elementwise_match(op, *reader.op) ? reader.id : -1;
}

Next after(Sketch s, StageId stage) {
  const StageId before = stage_before(s.state, stage);
  return {std::move(s), before};
}

}  // namespace tenon::search
