// SPDX-License-Identifier: Apache-2.0
// What a run begins with, and what it leaves: the model of its target, kept beside the database and made again from the
// records where it lacks many of them or cannot be used. Where a database is empty, or its model orders fewer pairs of
// held-out tasks right than the one that ships with tenon, that one is taken.
//
//   const Used used = begin(db, where, options, model);   // the model knows by now what was learned before
//   ...
//   renew(db, where, options);                            // the next run begins with what this one measured
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/model.h"
#include "history/model_file.h"
#include "history/records.h"

namespace tenon::history {

struct Options {
  std::string database;  // the file; models lie beside it
  std::string model = "xgb";
  std::vector<std::filesystem::path> shipped = {};  // folders; shipped_places
  std::function<int64_t()> now = {};                // seconds since 1970; empty: the machine's
  Limits limits = {};
};

struct Used {
  std::string from;  // "kept", "trained" just now, "shipped"; empty: nothing is known yet
  std::optional<Card> card;
  std::vector<std::string> notes;  // sentences: what could not be used, and what was done instead
};

// The records of a target are this many times those that its model knows: it is trained again.
inline constexpr double kGrowth = 1.2;

// Never fails: a run without history is a run as well.
Used begin(const db::Database& db, const Where& where, const Options& options,
           cost::CostModel& model);
// Trains if there are more records than the kept model knows. Returns what went wrong in a sentence; empty: nothing.
std::string renew(const db::Database& db, const Where& where, const Options& options);

// Where models that ship are looked for: in `models` beside the program, and in ../share/tenon/models from there.
std::vector<std::filesystem::path> shipped_places(const std::filesystem::path& program_folder);
// The nearest to the target among those of this model: code for the same kind of machine, registers of about the same
// size, most records. Nothing: none fits.
FoundModel shipped_model(const std::vector<std::filesystem::path>& places,
                         const target::Target& target, const std::string& model);

// Why a model is of no use here, in a sentence; empty: it is.
std::string why_not(const Card& card, const Where& where, const cost::CostModel& model);

}  // namespace tenon::history
