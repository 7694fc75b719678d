// SPDX-License-Identifier: Apache-2.0
// Which of a space to try next. Rows: "evolution" (Ansor), "random".
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/model.h"
#include "search/space.h"
#include "task/record.h"

namespace tenon::search {

struct Tried {
  Candidate candidate;
  double seconds = 0;  // infinity for a failure
};

// Who says what a candidate of the task is worth. The model may learn between proposals.
struct Scorer {
  task::Task task;
  const cost::CostModel& model;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Up to n candidates that were never proposed before; empty: the space is exhausted. The same
  // seed, history and model give the same answer whatever the number of threads.
  virtual std::vector<Candidate> propose(size_t n, Rng& rng) = 0;
  virtual void tell(std::span<const Tried> measured) = 0;
  // How many candidates to look at, from now on; a hint.
  virtual void set_population(size_t) {}
};

struct StrategyOptions {
  size_t population = 2048;
  int generations = 4;
  double mutation = 0.85;
  double crossover = 0.05;
  double random_share = 0.2;    // of the proposals: epsilon-greedy
  double measured_share = 0.2;  // of the first population
  int threads = 1;
};

struct StrategyRow {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<Strategy> (*make)(const Space& space, const Scorer& scorer,
                                    const StrategyOptions& options);
};
std::span<const StrategyRow> strategies();
std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                        const Scorer& scorer,
                                        const StrategyOptions& options);  // throws UserError

}  // namespace tenon::search
