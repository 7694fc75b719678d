// SPDX-License-Identifier: Apache-2.0
// Once a buffer stores zeros around dimension `dim`, a guard that only keeps an index inside it is not needed:
//   select(0 <= y - 1 and y - 1 < H, X[y - 1], 0)  =>  X[y - 1]
// when y - 1 stays within [-before, H + after). Called before the reads are moved to the new layout.
#pragma once

#include "schedule/state.h"

namespace tenon::schedule {

void strip_pad_guards(State& s, const ir::Buffer& buffer, size_t dim, int64_t before,
                      int64_t after);

}  // namespace tenon::schedule
