// SPDX-License-Identifier: Apache-2.0
// Which depthwise convolutions are computed with the pointwise one behind them. The task of both
// and the two tasks that it would replace are tuned with as many trials each; it is taken where it
// is faster than the two together. What lies between tasks does not count here: the comparison of
// whole networks is the judge.
//
//   PairSearch search({{apart, joined}}, tuner_options, options, measurer, db, run, tell);
//   while (search.step(stop)) {}
//   plan.pairs = search.chosen()[0];
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/network.h"
#include "tune/tuner.h"

namespace tenon::tune {

struct PairOptions {
  bool on = true;
  double share = 0.1;   // of the budget, and of the trials
  int64_t trials = 16;  // of each task
  int64_t rounds = 2;   // that these are measured in
};

// There may be something to decide: a depthwise convolution.
bool may_have_pairs(const graph::Graph& g);

// A model without pairs, and with all that can be ("*"); empty: it has none.
struct PairNetworks {
  plan::Network apart, joined;
};

class PairSearch {
 public:
  PairSearch(const std::vector<PairNetworks>& models, const TunerOptions& tuner,
             const PairOptions& options, measure::Measurer& measurer, db::Database* db,
             const std::string& run, Tell tell);
  ~PairSearch();
  PairSearch(const PairSearch&) = delete;
  PairSearch& operator=(const PairSearch&) = delete;

  // One pair, the dearest first; false: none is left. One that `stop` cut short is not taken.
  bool step(const std::function<bool()>& stop);

  size_t pairs() const;                                    // that differ, of all models
  const std::vector<plan::CallDecisions>& chosen() const;  // by model: NetworkPlan::pairs
  double gained_s() const;                                 // of all networks, by the pairs that pay
  int64_t measured() const;                                // by this object

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::tune
