// SPDX-License-Identifier: Apache-2.0
// How good a partial program can become: the logarithm of (time of the task's best program / time of the best program that
// can still be reached). 0: the best; -0.7: half as fast. Of a complete program it is a cost model.
//
//   const ValueFunction v = ValueFunction::load(bytes, neural::compiled_rows_scorers(how));
//   v.score(rows);          // of RowMaker::rows; -0.1, -0.9, ..
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cost/models/attention_network.h"
#include "cost/row.h"

namespace tenon::value {

struct ValueModel {
  cost::AttentionNetwork network;
  // A program that is not the rules' own is taken if it is predicted to be better by this much.
  double margin = 0;
  std::string card;  // what it was trained on, for people: one line
};

std::string to_bytes(const ValueModel& m);
ValueModel model_from_bytes(const std::string& bytes);  // throws UserError

class ValueFunction {
 public:
  ValueFunction(ValueModel model, const cost::MakeRowsScorer& make);

  // May be asked by several threads at once.
  std::vector<float> score(std::span<const cost::Row> rows) const;
  const ValueModel& model() const { return model_; }

 private:
  ValueModel model_;
  std::unique_ptr<cost::RowsScorer> scorer_;
};

}  // namespace tenon::value
