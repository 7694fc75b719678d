// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/storage_align.h"

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> StorageAlign::check(const State& s) const {
  TENON_TRY(check_computed(s, stage));
  const Stage& st = s[stage];
  if (st.output) return Illegal{.code = IllegalCode::kIsOutput, .stage = stage.id};
  if (dim < 0 || dim >= static_cast<int64_t>(st.buffer.rank()) - 1) {
    return Illegal{.code = IllegalCode::kNoSuchDim, .stage = stage.id, .value = dim};
  }
  if (factor < 1 || factor > 4096 || offset < 0 || offset >= factor) {
    return Illegal{.code = IllegalCode::kBadLayout, .stage = stage.id, .value = factor};
  }
  return {};
}

void StorageAlign::apply(State& s) const {
  Stage& st = s.edit(stage.id);
  st.align_dim = dim;
  st.align_factor = factor;
  st.align_offset = offset;
}

}  // namespace tenon::schedule
