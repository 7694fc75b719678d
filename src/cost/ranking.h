// SPDX-License-Identifier: Apache-2.0
// TLP's score of a model on a network: how long its tasks take when each runs the best of the k
// programs that the model likes best, against the best of all that were measured.
//
//   best times 2 and 4, of the first k 2 and 8, weights 1 and 3:   (1*2 + 3*4) / (1*2 + 3*8)
#pragma once

#include <map>
#include <string>

#include "cost/model.h"

namespace tenon::cost {

// How often each task occurs, by key; once if it is not there.
using Occurrences = std::map<std::string, double>;

// In (0, 1]; 0 if no task has a time. A task of whose first k all failed counts as 100,000 times
// its best.
double top_k(std::span<const float> predicted, std::span<const Sample> measured, int k,
             const Occurrences& occurrences = {});

}  // namespace tenon::cost
