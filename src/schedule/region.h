// SPDX-License-Identifier: Apache-2.0
// The box of an attached stage that its readers need (one step of bound inference).
#pragma once

#include <vector>

#include "schedule/bounds.h"

namespace tenon::schedule {

// Near-equal parts: `axis` needs only `shorter` elements unless `full_when` holds.
struct ShortPart {
  size_t axis;
  int64_t shorter;
  ir::Expr full_when;
};

struct Region {
  std::vector<AxisBounds> axes;
  std::vector<ShortPart> shorts;
};

// `b` holds the bounds of every stage after `stage` in the order; variables for split loops are added to its ranges.
Result<Region> required_region(const State& s, Bounds& b, StageId stage);

}  // namespace tenon::schedule
