// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/prefetch.h"

#include <algorithm>

#include "schedule/rules.h"

namespace tenon::schedule {

Result<void> Prefetch::check(const State& s) const {
  TENON_TRY(check_leaf(s, stage, loop));
  if (!s.has(tensor)) return Illegal{.code = IllegalCode::kNoSuchStage, .value = tensor.id};
  if (s[tensor].place == Place::kAt) {
    return Illegal{.code = IllegalCode::kIsAttached,
                   .stage = tensor.id,
                   .loop = s[tensor].at_loop,
                   .other = s[tensor].at_stage};
  }
  const auto readers = s.readers(tensor.id);
  if (std::find(readers.begin(), readers.end(), stage.id) == readers.end()) {
    return Illegal{.code = IllegalCode::kNotAReader, .stage = tensor.id, .other = stage.id};
  }
  const Mark mark = s[stage].loop(loop.id).mark;
  if (mark == Mark::kVectorize || mark == Mark::kUnroll || mark == Mark::kTensorize) {
    return Illegal{.code = IllegalCode::kAnnotated, .stage = stage.id, .loop = loop.id};
  }
  if (distance < 1 || distance > 4096) {
    return Illegal{.code = IllegalCode::kBadFactor,
                   .stage = stage.id,
                   .loop = loop.id,
                   .value = distance,
                   .limit = 4096};
  }
  return {};
}

void Prefetch::apply(State& s) const {
  s.edit(stage.id).prefetches.push_back({tensor.id, loop.id, distance});
}

}  // namespace tenon::schedule
