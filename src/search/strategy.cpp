// SPDX-License-Identifier: Apache-2.0
#include "search/strategy.h"

#include "search/strategies.h"
#include "support/check.h"

namespace tenon::search {
namespace {

constexpr StrategyRow kStrategies[] = {
    {"evolution", "mutation and crossover of whole programs under the cost model", make_evolution},
    {"random", "programs drawn from the space, the baseline", make_random},
};

}  // namespace

std::span<const StrategyRow> strategies() { return kStrategies; }

std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                        const Scorer& scorer, const StrategyOptions& options) {
  std::string known;
  for (const StrategyRow& r : kStrategies) {
    if (r.name == name) return r.make(space, scorer, options);
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no strategy '" + name + "'", "there are: " + known);
}

}  // namespace tenon::search
