// SPDX-License-Identifier: Apache-2.0
// What records teach the value function: programs that were measured, and beginnings of them. A beginning is worth what the
// best program is worth that was seen to begin so.
//
//   [algorithm 0, structure 2, factor 16 ..]   0.8 of the best      a program
//   [algorithm 0, structure 2]                 0.95                 the best of all that begin so
#pragma once

#include <cstdint>
#include <vector>

#include "cost/row.h"
#include "history/records.h"

namespace tenon::value {

struct LessonOptions {
  size_t beginnings = 4;  // of each program, besides the whole
  uint64_t seed = 1;
  int threads = 1;
  std::string space = "joint";
};

struct Lesson {
  cost::Row rows;
  float label = 0;    // best time of the task / best time of what begins so; 0: it failed
  uint32_t task = 0;  // number in the list
  bool complete = true;
  bool by_rule = false;  // the program that the rules write
};

// Records without choices, or whose choices do not lead to their trace any more, are passed over. The same records give the
// same lessons, whatever the number of threads.
std::vector<Lesson> lessons_of(const std::vector<history::Known>& tasks,
                               const LessonOptions& options);

}  // namespace tenon::value
