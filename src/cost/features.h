// SPDX-License-Identifier: Apache-2.0
// The model "xgb" sees these: the 164 numbers per stored buffer that Ansor's cost model reads (Zheng
// et al. 2020, and the open-source code), computed from the State: loops, extents and affine
// accesses, without lowering. docs/cost.md lists the columns and what was decided where the paper
// and the code differ.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "cost/row.h"
#include "schedule/bounds.h"
#include "schedule/state.h"

namespace tenon::cost {

inline constexpr size_t kFeatures = 164;

// One vector per computed stage that is not inlined, in the order of execution. Refused when bounds
// cannot be inferred.
Result<Row> extract(const schedule::State& s);
// The same for whoever has them already: `b` is infer_bounds(s).
Row extract(const schedule::State& s, const schedule::Bounds& b);

// The name of each column, and a hash of all names and of how they are computed: what a saved model
// must agree on.
const std::array<std::string, kFeatures>& feature_names();
uint64_t feature_hash();

}  // namespace tenon::cost
