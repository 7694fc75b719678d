// SPDX-License-Identifier: Apache-2.0
// Programs that the value function takes for good, found without measuring: hole by hole, the partial programs with the
// highest value are kept. The rules complete each of them on the way, so that every one that was looked at is a
// program, too, and the best of all is found at the end.
//
//   beam(space, maker, v, {.width = 8})[0].program      // the best; width 1 is the greedy choice
#pragma once

#include <cstdint>
#include <vector>

#include "value/decisions.h"
#include "value/function.h"
#include "value/rows.h"

namespace tenon::value {

struct BeamOptions {
  size_t width = 8;
  size_t values = 12;  // of one hole that are looked at, at most
  double noise = 0;  // standard deviation of what is added to predictions, to find others each time
  uint64_t seed = 1;  // of the noise
  int threads = 1;
};

struct Found {
  Look look;         // complete
  double worth = 0;  // predicted
};

// The best first, `most` at most, no two alike. The same arguments give the same programs, whatever the number of threads.
std::vector<Found> beam(const space::Space& space, const RowMaker& maker, const ValueFunction& v,
                        const BeamOptions& options, size_t most);

// Values of a hole to be looked at, `most` at most: the rule's, the ends, and others evenly spread.
std::vector<int64_t> values_of(const Decision& d, size_t most);

// In batches on several threads.
std::vector<float> score_rows(const ValueFunction& v, std::span<const cost::Row> rows, int threads);

}  // namespace tenon::value
