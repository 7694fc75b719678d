// SPDX-License-Identifier: Apache-2.0
// Evolution by measured times alone, for spaces where each trial is dear and no model judges, such as those of layouts:
// winners of small tournaments, one decision moved to a neighbouring value, or each decision from one of two parents.
#pragma once

#include "search/strategy/strategy.h"

namespace tenon::search {

std::unique_ptr<Strategy> make_tournament(const space::Space& space);

}  // namespace tenon::search
