// SPDX-License-Identifier: Apache-2.0
// Networks repeat themselves: twelve layers of one kind are drawn once, with a row that says how often they follow.
//
//   conv, relu, conv, relu, conv, relu, pool   =>   conv, relu, "the same 2 steps 2 more times", pool
#pragma once

#include <cstddef>
#include <vector>

#include "report/network/network.h"

namespace tenon::report {

struct PictureRow {
  size_t node = 0;  // that it shows; of a row for repetitions, the first that it stands for
  size_t steps = 0, times = 0;  // not 0: it stands for so many more times the `steps` rows above it
};
struct PictureRows {
  std::vector<PictureRow> rows;
  std::vector<size_t> of;  // by node: its row
};

// Each node has a row of its own unless it belongs to a repetition: nodes of the same task, layouts and shapes that read
// what lies as far above them.
PictureRows collapse_runs(const Network& n);

}  // namespace tenon::report
