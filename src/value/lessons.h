// SPDX-License-Identifier: Apache-2.0
// What records teach the value function: programs that were measured, and beginnings of them. A beginning is worth what the
// best program is worth that was seen to begin so.
//
//   [algorithm 0, structure 2, factor 16 ..]   0.8 of the best      a program
//   [algorithm 0, structure 2]                 0.95                 the best of all that begin so
#pragma once

#include <cstdint>
#include <vector>

#include "cost/model.h"
#include "history/records.h"

namespace tenon::value {

struct LessonOptions {
  size_t beginnings = 4;  // of each program, besides the whole
  uint64_t seed = 1;
  int threads = 1;
  std::string space = "joint";
  const cost::CostModel* judge = nullptr;  // sees complete programs, too; null: there is none
};

struct Lesson {
  cost::Row rows;
  cost::Row judged;   // what the judge sees of a complete program; empty: it cannot encode it
  float label = 0;    // best time of the task / best time of what begins so; 0: it failed
  uint32_t task = 0;  // number in the list
  bool complete = true;
  bool by_rule = false;          // the program that the rules write
  bool other_algorithm = false;  // than that has
};

// Records without choices, or whose choices do not lead to their trace any more, are passed over. The same records give the
// same lessons, whatever the number of threads.
std::vector<Lesson> lessons_of(const std::vector<history::Known>& tasks,
                               const LessonOptions& options);

}  // namespace tenon::value
