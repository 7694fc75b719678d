// SPDX-License-Identifier: Apache-2.0
// What the verbs of `tenon model` do, once their options are known. Each answers on the console and
// returns an exit code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "history/model_file.h"
#include "history/records.h"
#include "tools/tenon/console.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/json.h"
#include "tools/tenon/record_options.h"

namespace tenon::tools {

struct ModelVerbOptions {
  DbOptions db;
  history::SelectionOptions select;  // target and protocol alone
  std::string cost_model = "xgb";    // row of cost::models
  std::vector<std::string> also;     // train: parts of the names of further machines
  double labels = 1;                 // train: share of the machine's own times
  int64_t records = 0;               // train: at most; 0: as many as the model is quick with
  std::string file;                  // score: to read, empty: none; export, value: to write
  // Of `value`:
  int64_t beginnings = 4;  // partial programs that are learned from, of each program
  int64_t epochs = 30;
  int64_t width = 64;  // of the network
  bool rank = false;   // learns to rank, instead of how much worse each is
  uint64_t seed = 1;
};

int model_ls(const ModelVerbOptions& options, const Console& console);
int model_train(const ModelVerbOptions& options, const Console& console);
int model_score(const ModelVerbOptions& options, const Console& console);
int model_export(const ModelVerbOptions& options, const Console& console);
int model_value(const ModelVerbOptions& options, const Console& console);

// ---- what they share -----------------------------------------------------------------------------------------------

// Where times of a database compare, with how many there are: those that the options mean, most
// first. Throws UserError if there are none.
struct Machine {
  history::Where where;
  int64_t rows = 0;
  // False: its name says nothing to this program, which reads programs as if they were for the machine here.
  bool known = true;
};
std::vector<Machine> machines(const db::Database& db, const history::SelectionOptions& options);

// So many records, the fastest half of each task and the rest evenly spread.
history::Limits records_limits(int64_t records);

Json scores_json(const history::Scores& s);  // null: nothing was held out
std::string scores_text(
    const history::Scores& s);  // "top-1 0.91  top-5 0.98  pairs 0.84  (3 tasks)"
Json card_json(const history::Card& c);

}  // namespace tenon::tools
