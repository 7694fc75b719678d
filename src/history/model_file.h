// SPDX-License-Identifier: Apache-2.0
// A trained cost model as it lies on disk: what it was trained on and how good it is, then the model's own bytes.
//
//   tenon history model 1 4be1...           the hash of all that follows
//   {"model":"xgb","target":"...",...}      the card
//   tenon cost model 2 xgb ...              cost::CostModel::save
//
// It can be made again from records at any time: whatever is wrong with a file is a sentence, never a loss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cost/model.h"
#include "history/records.h"

namespace tenon::history {

// On tasks that the model did not learn from, in the mean over them.
struct Scores {
  double top1 = 0, top5 = 0;  // best time / best time among the predicted best 1 or 5
  double pairwise = 0;        // pairs in the right order
  int64_t tasks = 0;          // 0: nothing was held out, and nothing is known
};

struct Card {
  std::string model;               // row of cost::models
  std::string target, protocol;    // as records name them
  std::string triple;              // of the code
  int64_t vector_bytes = 0;        // of its registers; 0: not a CPU
  std::string features;            // encoding_of
  std::string tenon;               // the version that trained it
  int64_t rows = 0;                // that the database had of this target
  int64_t records = 0;             // of which it learned these
  std::vector<std::string> tasks;  // Known::computation, each once
  int64_t trained_at = 0;          // seconds since 1970; 0: not known
  Scores scores = {};
  Scores shipped =
      {};  // of the model that ships, on the same held-out tasks, none of which it knows
};

std::string trained_at_text(const Card& c);  // ISO 8601; empty: not known

struct ModelFile {
  Card card;
  std::string bytes;  // cost::CostModel::save
};

// What was found, or in a sentence why it cannot be used; neither: there is none.
struct FoundModel {
  std::optional<ModelFile> file;
  std::string why;
};

std::string to_text(const ModelFile& m);
ModelFile parse_model_file(const std::string& text);  // throws UserError
bool is_model_file(const std::string& text);          // by how it begins

// The one place that decides where models lie: beside the database, whatever links lead to it.
//   tenon.db.models/9f0c1d22a7b3e615.xgb.model
std::filesystem::path models_folder(const std::string& database);
std::filesystem::path model_path(const std::string& database, const Where& where,
                                 const std::string& model);
// All in a folder, by name.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder);

FoundModel read_model(const std::filesystem::path& path);
// Readers see the old file or the new one. Throws UserError.
void write_model(const std::filesystem::path& path, const ModelFile& m);

// Stands for how a model sees programs: 16 hex digits of what it makes of one that never changes.
std::string encoding_of(const cost::CostModel& model);

// The model's bytes of a file for --cost-model: with a card, or as CostModel::save left them. Throws UserError that
// names the file.
std::string model_bytes(const std::string& path);

}  // namespace tenon::history
