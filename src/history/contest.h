// SPDX-License-Identifier: Apache-2.0
// Cost models on the same records: each learns from the tasks that are not held out and ranks the programs of those that
// are.
//
//   const Split split = hold_out(tasks);                       // about one task in five
//   const Contestant c = compete("xgb", tasks, split, {});     // c.mean.top1, c.pooled.top1
//
// Times of several tasks can be put together in two ways (they differ by points, so both are told):
//   mean     of the ratios best / got, one of each task, or of each network
//   pooled   sum of best / sum of got, so that slow tasks count more
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cost/ranking.h"
#include "history/model_file.h"
#include "history/records.h"

namespace tenon::history {

// A network whose tasks are held out: how often it has each, by Known::computation.
struct HeldNetwork {
  std::string name;
  cost::Occurrences tasks;
};

struct Split {
  std::set<std::string> held;         // Known::computation
  std::vector<HeldNetwork> networks;  // empty: tasks are held out one by one
};
Split hold_out(const std::vector<Known>& tasks, uint64_t fold = 0);
// The tasks of networks, as far as there are records of them.
Split hold_out(const std::vector<Known>& tasks, std::vector<HeldNetwork> networks);

struct TopScores {
  double top1 = 0, top5 = 0;
};

struct Contestant {
  std::string model;
  bool trained = false;
  int64_t learned = 0, asked = 0;  // programs
  int64_t held_out = 0;            // tasks
  TopScores mean, pooled;
  double pairwise = 0;  // in the mean over tasks
  double encode_s = 0, train_s = 0, score_s = 0;
};

struct CompeteOptions {
  const std::vector<Known>* lessons =
      nullptr;  // what is learned, but for held-out tasks; null: all
  uint64_t seed = 1;
  int threads = 0;  // 0: one per core
};
// Throws UserError for a model that there is not, or that cannot be trained here.
Contestant compete(const std::string& model, const std::vector<Known>& tasks, const Split& split,
                   const CompeteOptions& options);

}  // namespace tenon::history
