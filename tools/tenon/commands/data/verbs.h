// SPDX-License-Identifier: Apache-2.0
// What the verbs of `tenon data` do, once their options are known. Each answers on the console and returns an exit code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "history/records.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/console.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/record_options.h"

namespace tenon::tools {

struct DataVerbOptions {
  DbOptions db;                    // where no files are named
  std::vector<std::string> files;  // exports, packed ones too, and databases
  history::SelectionOptions select;
  std::vector<std::string> cost_models = {"xgb"};  // score
  std::string cost_model = "tlp";                  // encode
  // Only `score` reads the next four.
  std::vector<std::string> networks;    // ONNX files whose tasks are held out
  uint64_t fold = 0;                    // which fifth of the tasks is held out, without networks
  std::vector<std::string> learn_from;  // files with what is learned; empty: all of them
  int64_t records = 0;                  // to learn from, at most; 0: all
  uint64_t seed = 1;
  size_t per_task = 4096;  // programs of one task that are read, at most
  std::string output;      // encode
};

int data_ls(const DataVerbOptions& options, const Console& console);
int data_check(const DataVerbOptions& options, const Console& console);
int data_agree(const DataVerbOptions& options, const Console& console);
int data_score(const DataVerbOptions& options, const Console& console);
int data_encode(const DataVerbOptions& options, const Console& console);

// All files as one database to read; without files, the one of --db.
std::unique_ptr<db::Database> open_data(const DataVerbOptions& options);
std::unique_ptr<db::Database> open_files(const std::vector<std::string>& files);
// All records there are, as many of each task as the options say.
history::Limits limits_of(const DataVerbOptions& options);

}  // namespace tenon::tools
