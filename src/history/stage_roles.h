// SPDX-License-Identifier: Apache-2.0
// What the stages of a task are to its work, in words. Numbers of stages depend on how many ops and inputs there are;
// the same decision about two tasks has the same word.
//
//   pad, conv, bias, relu   =>   x1, anchor, after1, last+out
//   conv                    =>   anchor+last+out
//
// A stage that steps make has a number after all others: the k-th of them is `made<k>` in every task.
#pragma once

#include <string>
#include <vector>

#include "schedule/stage.h"
#include "te/dag.h"

namespace tenon::history {

class StageRoles {
 public:
  explicit StageRoles(const te::ComputeDag& dag);

  // Words joined by '+'; "program" for -1.
  std::string role(schedule::StageId stage) const;
  // The stages of this dag that share a word with the role, those that share all of them first. None: nothing here is
  // like it.
  std::vector<schedule::StageId> stages(const std::string& role) const;

 private:
  void name(schedule::StageId stage, const std::string& word);
  schedule::StageId stage_of(const te::ComputeDag& dag, const te::Tensor& t) const;
  void name_behind(const te::ComputeDag& dag, const te::ComputeOp& anchor);
  void name_before(const te::ComputeDag& dag, const te::Tensor& t, const std::string& path,
                   int depth);
  void name_others(const te::ComputeDag& dag, const te::ComputeOp& anchor);

  std::vector<std::vector<std::string>> words_;  // by stage, ascending
};

}  // namespace tenon::history
