// SPDX-License-Identifier: Apache-2.0
// How good a partial program can become: the logarithm of (time of the task's best program / time of the best program that
// can still be reached). 0: the best; -0.7: half as fast. Of a complete program it is a cost model.
//
//   const ValueFunction v = ValueFunction::load(bytes, neural::compiled_rows_scorers(how));
//   v.score(rows);                          // of RowMaker::rows; -0.1, -0.9, ..
//   v.settled(score, task, program);        // the mean of both opinions on a complete program
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cost/model.h"
#include "cost/models/attention_network.h"
#include "cost/row.h"
#include "space/space.h"

namespace tenon::value {

struct ValueModel {
  cost::AttentionNetwork network;
  // A program that is not the rules' own is taken if it is predicted to be better by this much, and by so much if its
  // algorithm is another: records have few programs of each, and the rules know what algorithms cost.
  double margin = 0, algorithm_margin = 0;
  std::string card;   // what it was trained on, for people: one line
  std::string judge;  // a saved cost model, which scores best time / time; empty: there is none
};

std::string to_bytes(const ValueModel& m);
ValueModel model_from_bytes(const std::string& bytes);  // throws UserError

// A cost model's score of best time / time as a value.
double value_of_score(double score);
cost::Subject subject_of(const task::Task& t, const space::Program& p);

class ValueFunction {
 public:
  // Throws UserError if the judge is none.
  ValueFunction(ValueModel model, const cost::MakeRowsScorer& make);

  // May be asked by several threads at once.
  std::vector<float> score(std::span<const cost::Row> rows) const;
  double settled(double score, const task::Task& t, const space::Program& complete) const;
  const ValueModel& model() const { return model_; }

 private:
  ValueModel model_;
  std::unique_ptr<const cost::CostModel> judge_;  // null: there is none
  std::unique_ptr<cost::RowsScorer> scorer_;
};

}  // namespace tenon::value
