// SPDX-License-Identifier: Apache-2.0
// The rows of the table in strategy.cpp.
#pragma once

#include "search/strategy.h"

namespace tenon::search {

std::unique_ptr<Strategy> make_evolution(const Space& space, const Scorer& scorer,
                                         const StrategyOptions& options);
std::unique_ptr<Strategy> make_random(const Space& space, const Scorer& scorer,
                                      const StrategyOptions& options);

}  // namespace tenon::search
