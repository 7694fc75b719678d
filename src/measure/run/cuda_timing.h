// SPDX-License-Identifier: Apache-2.0
// How long a module takes on a card, by the card's own clock. Launches one after the other stand in a graph, as in a
// finished model, so many that one repetition takes a tenth of a millisecond; what is to be cold has a copy for each of
// them.
//
//   flush, one launch | event | launches on copy 0, 1, 2, ... | event      =>  one repetition
#pragma once

#include <vector>

#include "measure/run/cuda_module.h"

namespace tenon::run {

// Seconds of all launches of the module together, per repetition: after a warm-up, until the median is known well or
// rules.min_run_s are spent.
std::vector<double> time_on_card(Card& card, const CardModule& module, const Arguments& a,
                                 const TimingRules& rules);

}  // namespace tenon::run
