// SPDX-License-Identifier: Apache-2.0
// What `tenon tune` was asked for, and what the tuner makes of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "history/known_programs.h"
#include "measure/measure.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/model_options.h"
#include "tune/session.h"

namespace tenon::tools {

struct TuneOptions {
  std::vector<std::string> paths;
  ModelOptions model;  // for all of them; its path is not used
  std::string output, name;
  std::string emit = "so,h";
  std::string budget;
  int64_t trials = 0;
  int threads = 0;
  std::string tasks = "*";
  uint64_t seed = 1;
  DbOptions db;
  std::string space = "joint";
  std::string strategy = "evolution";
  std::string pairs = "on";
  std::string transplant = "on";
  std::string programs;  // file
  std::string value;     // file, or "shipped"; empty: none
  std::string layouts = "evolution";
  std::string layout_agent;  // file
  std::string cost_model = "xgb";
  std::string history = "on";
  std::string save_cost_model;  // file
  std::string verify = "best";
  std::string objective = "sum";
  std::vector<std::string> latency_targets, references;  // "MODEL=10ms"
  int early_stop = 3;                                    // rounds, with --objective early-stop
  int64_t round = 0;                                     // as many as keep the machine busy
  int search_threads = 0;
  std::string compile_limit = "15s", run_limit = "10s";
  int64_t compile_memory_mib = 2048;
  bool warm = false;
  bool overlap = false;
  bool dry_run = false;
  bool jsonl = false;
  bool sim = false;
  std::string build_tool, run_tool;  // instead of those beside the program; for tests
  size_t population = 0;             // 0: the strategy's own; for tests
};

void add_tune_options(CLI::App& command, TuneOptions& options);

// Throw UserError or CommandError for what makes no sense.
std::vector<tune::Model> import_models(const TuneOptions& options, const Console& console);
tune::SessionOptions session_options(const TuneOptions& options);
// The table that --transplant begins with; empty where none ships. What is damaged is left out with
// a warning.
std::vector<history::KnownTask> known_programs(const TuneOptions& options, const Console& console);
measure::DeviceOptions device_options(const TuneOptions& options);
task::Protocol protocol_of(const TuneOptions& options);

// What makes two runs the same: the models' bytes and every option that bears on the search.
std::string command_text(const TuneOptions& options, const std::vector<tune::Model>& models);

}  // namespace tenon::tools
