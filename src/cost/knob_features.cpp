// SPDX-License-Identifier: Apache-2.0
#include "cost/knob_features.h"

#include "cost/columns.h"
#include "support/hash.h"

namespace tenon::cost {

namespace {

using space::HoleKind;

constexpr uint64_t kFormulas = 1;  // raised when a column comes to mean something else

bool is_size(HoleKind kind) {
  switch (kind) {
    case HoleKind::kLayout:
    case HoleKind::kFactor:
    case HoleKind::kParts:
    case HoleKind::kUnroll:
    case HoleKind::kLanes:
      return true;
    default:
      return false;
  }
}

float value_of(const space::Choice& c) {
  return is_size(c.hole.kind) ? slog(static_cast<double>(c.value)) : static_cast<float>(c.value);
}

void add(Row& row, const Hasher& place, float value) {
  row.values[place.value() % kKnobColumns] += value;
}

}  // namespace

Row knob_features(const space::Choices& choices) {
  Row row{std::vector<float>(kKnobColumns), kKnobColumns, {}};
  for (const space::Choice& c : choices) {
    Hasher h;
    h.add(static_cast<uint64_t>(c.hole.kind)).add(c.hole.stage).add(c.hole.number);
    add(row, h, value_of(c));
  }
  return row;
}

Row knob_features(const schedule::Trace& trace) {
  Row row{std::vector<float>(kKnobColumns), kKnobColumns, {}};
  uint64_t place = 0;
  for (const schedule::Step& s : trace) {
    const auto numbers = schedule::numbers_of(s);
    const auto primitive = static_cast<int64_t>(schedule::row_of(s).id);
    add(row, Hasher().add(primitive).add(++place), 1);
    for (const int64_t n : numbers) {
      add(row, Hasher().add(primitive).add(++place), slog(static_cast<double>(n)));
    }
  }
  return row;
}

uint64_t knob_feature_hash() { return Hasher().add(kFormulas).add(uint64_t{kKnobColumns}).value(); }

}  // namespace tenon::cost
