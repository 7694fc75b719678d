// SPDX-License-Identifier: Apache-2.0
// How well two times of the same programs agree: who knew the one could not rank by the other better than this, and no model
// that learned from such times can be shown to.
//
//   const Agreement a = agreement(measured, measured_again);
//   a.scores.top1;     // 0.84: the fastest program of a task by the one is that good by the other, in the mean
#pragma once

#include <vector>

#include "history/model_file.h"
#include "history/records.h"

namespace tenon::history {

struct Agreement {
  int64_t programs = 0;  // that ran in both
  double deviation = 0;  // of the logarithm of one time
  Scores
      scores;  // of the first times as predictions, judged by the second; over tasks with two programs or more
};

Agreement agreement(const std::vector<Known>& one, const std::vector<Known>& other);

}  // namespace tenon::history
