// SPDX-License-Identifier: Apache-2.0
// Evolution by measured times alone, for spaces where each trial is dear and no model judges, such as those of layouts:
// winners of small tournaments, one decision moved to a neighbouring value, or each decision from one of two parents.
#pragma once

#include "search/strategy/strategy.h"

namespace tenon::search {

std::unique_ptr<Strategy> make_tournament(const space::Space& space);

// One decision of the program at its next smaller or larger value. Refused: it does not fit.
Result<space::Program> neighbour(const space::Space& space, const space::Program& p, Rng& rng);

}  // namespace tenon::search
