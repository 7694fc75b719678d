// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/strategy.h"

#include "support/check.h"

namespace tenon::search {

std::unique_ptr<Strategy> make_annealing(const space::Space& space, const cost::CostModel* model,
                                         const StrategyOptions& options);
std::unique_ptr<Strategy> make_evolution(const space::Space& space, const cost::CostModel* model,
                                         const StrategyOptions& options);
std::unique_ptr<Strategy> make_genetic(const space::Space& space, const cost::CostModel* model,
                                       const StrategyOptions& options);
std::unique_ptr<Strategy> make_grid(const space::Space& space, const cost::CostModel* model,
                                    const StrategyOptions& options);
std::unique_ptr<Strategy> make_random(const space::Space& space, const cost::CostModel* model,
                                      const StrategyOptions& options);
std::unique_ptr<Strategy> make_ppo(const space::Space& space, const cost::CostModel* model,
                                   const StrategyOptions& options);
std::shared_ptr<Learner> make_ppo_learner(const LearnerOptions& options);

namespace {

constexpr StrategyRow kStrategies[] = {
    {"evolution", "mutations and crossings of the best so far (Ansor)", make_evolution},
    {"annealing", "simulated annealing under the cost model, diverse batches (AutoTVM)",
     make_annealing},
    {"genetic", "generations bred by measured times alone (AutoTVM), a baseline", make_genetic},
    {"grid", "all programs in the order of their choices, a baseline", make_grid},
    {"random", "programs drawn from the space, the baseline", make_random},
    {"ppo", "an agent that learns layouts from rewards; needs the plug-in tenon-torch", make_ppo,
     make_ppo_learner},
};

const StrategyRow& row_of(const std::string& name, std::span<const StrategyRow> rows) {
  std::string known;
  for (const StrategyRow& r : rows) {
    if (r.name == name) return r;
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no strategy '" + name + "'", "there are: " + known);
}

}  // namespace

std::span<const StrategyRow> strategies() { return kStrategies; }

std::vector<std::string> loop_strategies() {
  std::vector<std::string> names;
  for (const StrategyRow& r : kStrategies) {
    if (r.make_learner == nullptr) names.emplace_back(r.name);
  }
  return names;
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, const space::Space& space,
                                        const cost::CostModel* model,
                                        const StrategyOptions& options,
                                        std::span<const StrategyRow> rows) {
  return row_of(name, rows).make(space, model, options);
}

std::shared_ptr<Learner> make_learner(const std::string& name, const LearnerOptions& options) {
  const StrategyRow& r = row_of(name, strategies());
  return r.make_learner == nullptr ? nullptr : r.make_learner(options);
}

}  // namespace tenon::search
