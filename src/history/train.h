// SPDX-License-Identifier: Apache-2.0
// A cost model out of all records of a target. Whole tasks are held out to see how good it is; then it learns from all.
// The same records give the same model, whoever trains it and on however many threads.
//
//   const Trained t = train(db, where, {.model = "xgb", .now = 1700000000});
//   if (t.file) write_model(model_path(database, where, "xgb"), *t.file);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cost/model.h"
#include "history/model_file.h"
#include "history/records.h"

namespace tenon::history {

struct TrainOptions {
  std::string model = "xgb";           // row of cost::models
  int64_t now = 0;                     // what the card says it was trained at
  Limits limits = {};                  // also the threads
  const ModelFile* shipped = nullptr;  // is scored on the same held-out tasks; null: none ships
};

struct Trained {
  std::optional<ModelFile> file;  // nothing: too few programs ran, or the model does not learn
  int64_t rows = 0;               // Records::rows
  int64_t left_out = 0;           // Records::left_out
  std::string why;                // of the first of those
};

// Throws UserError for a model that there is not.
Trained train(const db::Database& db, const Where& where, const TrainOptions& options);

// True for about one task in five, whichever others there are. Each task is held out in one fold of five.
inline constexpr uint64_t kFolds = 5;
bool is_held_out(const std::string& key, uint64_t fold = 0);
// Known::computation of tasks to hold out. At least one, where two can be ranked, and never all of them.
std::set<std::string> held_out(const std::vector<Known>& tasks, uint64_t fold = 0);

// What a model says of itself, but for its records, scores and age.
Card card_of(const Where& where, const cost::CostModel& model,
             const std::vector<std::string>& computations, int64_t rows);

// The tasks as samples for a model; those that it cannot encode are left out.
std::vector<cost::Sample> encode(const cost::CostModel& model, const std::vector<Known>& tasks,
                                 int threads);
Scores score(const cost::CostModel& model, const std::vector<cost::Sample>& samples);
// Of a model that learns from tasks that are not held out, on those that are.
Scores held_out_scores(const std::string& model, const std::vector<Known>& tasks, int threads);

}  // namespace tenon::history
