// SPDX-License-Identifier: Apache-2.0
// What a candidate is predicted to be worth: higher is better, about best time / time within one task.
//
//   auto m = make_model("xgb", seed, threads);
//   m->update(samples);                          // all that was measured so far
//   std::vector<float> worth = m->predict(candidates);
//
// For one seed and one history of updates the predictions are the same whatever the number of threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/features.h"

namespace tenon::cost {

struct Sample {
  Features features;
  std::string task;    // labels are relative to the best of the same task
  double seconds = 0;  // infinity for a failure
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::string_view name() const = 0;
  // Everything measured so far, old samples first; the model decides whether to retrain.
  virtual void update(std::span<const Sample> samples) = 0;
  // One number per candidate. Safe to call from several threads.
  virtual std::vector<float> predict(std::span<const Features> candidates) const = 0;
  // False: predictions are uniform in [0, 1) and say nothing.
  virtual bool trained() const = 0;
  virtual std::string save() const = 0;  // bytes, with the feature hash
  // Throws UserError: not a model, of another kind, made for other features.
  virtual void load(const std::string& bytes) = 0;
};

struct ModelRow {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<CostModel> (*make)(uint64_t seed, int threads);
};
std::span<const ModelRow> models();  // "xgb", "random"
std::unique_ptr<CostModel> make_model(const std::string& name, uint64_t seed,
                                      int threads);  // throws UserError

// How well predictions rank measured times. Each number is the mean over tasks with two samples or more of which one
// did not fail.
struct RankingQuality {
  double pairwise_accuracy =
      0;                   // pairs of one task in the right order; equal predictions count half
  double recall_at_k = 0;  // of the true best k among the predicted best k
  double top_k_score = 0;  // best time / best time among the predicted best k
  int k = 0;
  size_t samples = 0;
};
RankingQuality ranking_quality(std::span<const float> predicted, std::span<const Sample> measured,
                               int k);

}  // namespace tenon::cost
