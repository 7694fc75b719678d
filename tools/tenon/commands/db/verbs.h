// SPDX-License-Identifier: Apache-2.0
// What the verbs of `tenon db` do, once their options are known. Each answers on the console and
// returns an exit code.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/console.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/model_options.h"
#include "tools/tenon/record_options.h"

namespace tenon::tools {

struct DbVerbOptions {
  DbOptions db;
  history::SelectionOptions select;
  std::string name;                // show: a task or a run; why-miss: a model or a task
  std::vector<std::string> files;  // import, merge
  std::string output = "-";        // export, programs
  std::string lock;                // best
  int top = 5;                     // show
  int best = 3;                    // programs
  bool runs = false;               // ls
  int64_t keep = 10;               // prune
  bool dry_run = false, yes = false;
  bool records = false;  // verify
  ModelOptions model;    // why-miss
  int threads = 0;       // why-miss; 0: all cores
  bool warm = false;     // why-miss
  bool ask = false;      // prune: somebody is there to be asked
  std::string build_tool, run_tool;
};

int db_ls(const DbVerbOptions& options, const Console& console);
int db_show(const DbVerbOptions& options, const Console& console);
int db_best(const DbVerbOptions& options, const Console& console);
int db_stats(const DbVerbOptions& options, const Console& console);
int db_programs(const DbVerbOptions& options, const Console& console);
int db_export(const DbVerbOptions& options, const Console& console);
int db_import(const DbVerbOptions& options, const Console& console);
int db_merge(const DbVerbOptions& options, const Console& console);
int db_prune(const DbVerbOptions& options, const Console& console);
int db_verify(const DbVerbOptions& options, const Console& console);
int db_why_miss(const DbVerbOptions& options, const Console& console);

}  // namespace tenon::tools
