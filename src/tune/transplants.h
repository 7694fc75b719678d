// SPDX-License-Identifier: Apache-2.0
// What one task takes over from tasks that are alike, and what a value function would choose for it:
// its strategy begins with these programs, and what came of them is told once they were measured.
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
#include "value/instant.h"

namespace tenon::tune {

struct TaskResult;

class Transplants {
 public:
  // Before the first proposals of the task; again: nothing. At most a quarter of a round of `round`
  // programs of each kind, and no more than eight. Both may be null.
  void begin(history::KnownPrograms* known, const value::Instant* instant,
             const space::Space& space, search::Strategy& strategy, size_t round);
  // What came of those in a round; nothing if it had none of them.
  std::optional<events::Transplanted> told(const std::string& task,
                                           std::span<const space::Program> proposed,
                                           std::span<const task::Measurement> measured,
                                           const TaskResult& result) const;

 private:
  void add_instant(const value::Instant& instant, const space::Space& space, size_t most,
                   std::vector<space::Program>& to);
  void add_alike(history::KnownPrograms& known, const space::Space& space, size_t most,
                 std::vector<space::Program>& to);

  bool begun_ = false;
  // By hash of the program: key of the task it comes from, or kValue.
  std::map<uint64_t, std::string> from_;
  std::vector<std::string> nearest_;  // keys in the order of likeness
};

}  // namespace tenon::tune
