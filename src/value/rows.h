// SPDX-License-Identifier: Apache-2.0
// What the value function sees of a partial program: a row with facts about its task and about the program that the rules
// would complete it to, a row for each loop around that program's dominant statement, and a row for each decision that
// was made. Names and numbers of stages do not occur, so that decisions about one task say something about those of another.
//
//   facts     conv, 64 columns, depth 64, 56 x 56, 3 x 3 ..; half decided; drafted at 1.3 times the rule's program
//   loop      the innermost: 16 iterations, vectorised, 1 element of X, 16 of W ..
//   decision  factor, of the output, axis 3, level 0: 16 of 1..64, twice the rule's, a multiple of the vector ..
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cost/loop_features.h"
#include "cost/row.h"
#include "history/stage_roles.h"
#include "task/task.h"
#include "value/decisions.h"

namespace tenon::value {

// Of one task. May be asked by several threads at once.
class RowMaker {
 public:
  // `by_rule`: the program that the rules write, which others are compared with.
  RowMaker(const task::Task& t, const space::Program& by_rule);

  // Of the first `made` decisions of a look.
  cost::Row rows(const Look& look) const { return rows(look, look.made); }
  // Of all of its decisions: as if the rules' had been made.
  cost::Row whole(const Look& look) const { return rows(look, look.decisions.size()); }

 private:
  cost::Row rows(const Look& look, size_t made) const;
  void add_facts(const Look& look, size_t made, const cost::LoopContext& context,
                 std::vector<float>& out) const;
  static void add_loops(const cost::LoopContext& context, std::vector<float>& out);
  void add_decision(const Decision& d, int64_t algorithm, std::vector<float>& out) const;
  std::string structure(int64_t algorithm, int64_t value) const;

  const task::Task task_;
  const history::StageRoles roles_;
  std::vector<float> facts_;  // columns of the facts that all programs share
  double drafted_by_rule_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::vector<std::string>> structures_;  // by algorithm; made when asked
};

uint32_t row_columns();
// Stands for what the columns mean: a trained function goes with it.
uint64_t columns_hash();

}  // namespace tenon::value
