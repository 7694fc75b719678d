// SPDX-License-Identifier: Apache-2.0
// The choices that made a program, as one row: each has a column by the hash of its hole, sizes as
// logarithms. It takes no look at the program itself and costs next to nothing, but says something
// about programs of one space only.
//
//   factor C i 1 = 16, parallel C = 1   =>   two of 128 columns: 4 and 1
#pragma once

#include <cstdint>

#include "cost/row.h"
#include "schedule/trace.h"
#include "space/choice.h"

namespace tenon::cost {

inline constexpr uint32_t kKnobColumns = 128;

// Holes that share a column are added up.
Row knob_features(const space::Choices& choices);
// For a program whose choices nobody knows: the numbers of its steps, by their place in the trace.
Row knob_features(const schedule::Trace& trace);

// How they are computed: what a saved model must agree on.
uint64_t knob_feature_hash();

}  // namespace tenon::cost
