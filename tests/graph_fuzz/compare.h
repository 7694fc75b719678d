// SPDX-License-Identifier: Apache-2.0
// Whether the numbers of a compiled model may come from the model.
//
// An element is right at once when it is within a few units in the last place. Otherwise the oracle is run again with
// every rounding disturbed (see evaluate): the element may be off by as much as those runs are. No constant depends
// on the graph: cancellation, ill-conditioned chains, and Round, ArgMax or comparisons at a tie all show as a spread.
#pragma once

#include <string>
#include <vector>

#include "graph_fuzz/random_model.h"

namespace tenon::graph_fuzz {

struct Comparison {
  std::string difference;  // empty: right
  int64_t elements = 0;
  int64_t disturbed = 0;  // right only in the light of disturbed runs
  int64_t open = 0;       // of these, so far spread that nothing is said about them
};

// `got` by the names of the model's outputs.
Comparison compare(const Case& c, const Arrays& got);

}  // namespace tenon::graph_fuzz
