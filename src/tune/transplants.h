// SPDX-License-Identifier: Apache-2.0
// What one task takes over from tasks that are alike: its strategy begins with their programs, and
// what came of them is told once they were measured.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "events/events.h"
#include "history/known_programs.h"
#include "search/strategy/strategy.h"
#include "task/record.h"

namespace tenon::tune {

struct TaskResult;

class Transplants {
 public:
  // Before the first proposals of the task; again: nothing. At most a quarter of a round of `round`
  // programs, and no more than eight.
  void begin(history::KnownPrograms& known, const space::Space& space, search::Strategy& strategy,
             size_t round);
  // What came of those in a round; nothing if it had none of them.
  std::optional<events::Transplanted> told(const std::string& task,
                                           std::span<const space::Program> proposed,
                                           std::span<const task::Measurement> measured,
                                           const TaskResult& result) const;

 private:
  bool begun_ = false;
  std::map<uint64_t, std::string> from_;  // by hash of the program: key of the task it comes from
  std::vector<std::string> nearest_;      // keys in the order of likeness
};

}  // namespace tenon::tune
