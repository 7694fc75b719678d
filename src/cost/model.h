// SPDX-License-Identifier: Apache-2.0
// A cost model predicts what a candidate is worth: higher is better, about best time / time within one
// task. A model owns what it sees: it turns a program into numbers of its own and nobody else
// looks into them.
//
//   auto m = make_model("xgb", seed, threads);
//   Result<Row> row = m->encode({task, trace, &state});        // by many threads at once
//   m->learn(samples, Role::kThisRun);                         // measured since the last call
//   std::vector<float> worth = m->score(rows);
//
// For one seed and one history of lessons the scores are the same whatever the number of threads.
// docs/adding/cost-model.md says how to add one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/row.h"
#include "schedule/bounds.h"
#include "space/choice.h"
#include "task/task.h"

namespace tenon::cost {

// A program, with what its maker knows of it already. Null: unknown here; the trace tells all.
struct Subject {
  const task::Task& task;
  const schedule::Trace& trace;
  const schedule::State* state = nullptr;
  const schedule::Bounds* bounds = nullptr;  // of the state
  const space::Choices* choices = nullptr;
};

struct Sample {
  Row row;
  std::string task;    // key; labels are relative to the best of the same task
  double seconds = 0;  // infinity for a failure
};

enum class Role : uint8_t {
  kHistory,  // learned once, and kept under whatever this run adds
  kThisRun,
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::string_view name() const = 0;
  // Turns a program into what the model sees of it. It is pure, and safe to call from several threads.
  virtual Result<Row> encode(const Subject& subject) const = 0;
  // Samples that it was not told before. The model keeps what it needs of them, and decides when
  // to train.
  virtual void learn(std::span<const Sample> samples, Role role) = 0;
  // One number per row that this model encoded. Safe to call from several threads.
  virtual std::vector<float> score(std::span<const Row> rows) const = 0;
  // False: scores are uniform in [0, 1) and say nothing.
  virtual bool trained() const = 0;
  virtual std::string save() const = 0;  // bytes
  // Takes a saved model as history. Throws UserError, and stays as it was: not a model, of another
  // kind, made for other encodings.
  virtual void load(const std::string& bytes) = 0;
  // Of a model that knows several machines: scores are for this one from now on, or for the nearest
  // that it knows. Says in a sentence if it is not this one; empty: it is, or the model has but one.
  virtual std::string serve(const std::string& /*measured*/, const std::string& /*protocol*/,
                            int64_t /*vector_bytes*/) {
    return "";
  }
};

using MakeModel = std::unique_ptr<CostModel>(uint64_t seed, int threads);
struct ModelRow {
  std::string_view name;
  std::string_view what;
  MakeModel* make;
};
std::span<const ModelRow> models();  // "xgb", "xgb-rank", .., "tlp", "random"
// Both throw UserError. A saved model says itself which row it is of.
std::unique_ptr<CostModel> make_model(const std::string& name, uint64_t seed, int threads,
                                      std::span<const ModelRow> rows = models());
std::unique_ptr<CostModel> load_model(const std::string& bytes, uint64_t seed, int threads,
                                      std::span<const ModelRow> rows = models());

// How well scores rank measured times. Each number is the mean over tasks with two samples or more
// of which one did not fail.
struct RankingQuality {
  double pairwise_accuracy = 0;  // pairs of one task in the right order; equal scores count half
  double recall_at_k = 0;        // of the true best k among the predicted best k
  double top_k_score = 0;        // best time / best time among the predicted best k
  int k = 0;
  size_t samples = 0;
};
RankingQuality ranking_quality(std::span<const float> predicted, std::span<const Sample> measured,
                               int k);

}  // namespace tenon::cost
