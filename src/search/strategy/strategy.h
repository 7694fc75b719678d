// SPDX-License-Identifier: Apache-2.0
// Which programs of a space to try next. Rows of one table: "evolution" (Ansor's, under a cost model; without one by the
// measured times alone), "annealing" (AutoTVM's, likewise), the baselines "genetic", "random" and "grid", and "ppo", an
// agent of the plug-in tenon-torch, for spaces of layouts. docs/tuning/search.md says what each is for.
//
//   const auto s = make_strategy("evolution", space, &model, options);
//   while (!(batch = s->propose(32, rng)).empty()) s->tell(measured(batch));
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/model.h"
#include "space/space.h"

namespace tenon::search {

class LayoutSpace;

struct Tried {
  space::Program program;
  double seconds = 0;  // infinity for a failure
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Up to n programs that were never proposed before; empty: the space is exhausted. The same seed, history and model
  // give the same answer whatever the number of threads.
  virtual std::vector<space::Program> propose(size_t n, Rng& rng) = 0;
  virtual void tell(std::span<const Tried> measured) = 0;
  // Programs of this space that are known to be good elsewhere: proposed right after the space's own seeds.
  virtual void begin_with(std::vector<space::Program>) {}
  // How many candidates to look at, from now on; a hint.
  virtual void set_population(size_t) {}
};

// What is learned from the results in all spaces whose strategies share it.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual void save(const std::string& file) const = 0;  // throws UserError
};

struct LearnerOptions {
  uint64_t seed = 1;    // of first weights and actions
  std::string learned;  // a file of Learner::save to start from; empty: nothing learned before
  std::string plug_in;  // the library of the learner; empty: beside the program
};

struct StrategyOptions {
  size_t population = 2048;
  int generations = 4;
  double mutation = 0.85;
  double crossover = 0.05;
  double random_share = 0.2;    // of the proposals: epsilon-greedy
  double measured_share = 0.2;  // of the first population
  bool draft = true;            // blind draws are screened by cost::draft_seconds
  int threads = 1;
  const LayoutSpace* layouts = nullptr;  // where the holes are those of layouts
  std::shared_ptr<Learner> learner;      // of make_learner; null: the strategy's own
};

struct StrategyRow {
  std::string_view name;
  std::string_view what;
  // The space and the model, which may be null, must live as long.
  std::unique_ptr<Strategy> (*make)(const space::Space& space, const cost::CostModel* model,
                                    const StrategyOptions& options);
  // Null: it learns nothing for other spaces.
  std::shared_ptr<Learner> (*make_learner)(const LearnerOptions& options) = nullptr;
};
std::span<const StrategyRow> strategies();
// Names of the rows for loops: those that learn from layouts have no use for them.
std::vector<std::string> loop_strategies();
// Both throw UserError: there is no such row, its plug-in is not installed, or its file does not fit.
std::unique_ptr<Strategy> make_strategy(const std::string& name, const space::Space& space,
                                        const cost::CostModel* model,
                                        const StrategyOptions& options,
                                        std::span<const StrategyRow> rows = strategies());
// To be shared by all strategies of that row; null if it learns nothing for other spaces.
std::shared_ptr<Learner> make_learner(const std::string& name, const LearnerOptions& options);

}  // namespace tenon::search
