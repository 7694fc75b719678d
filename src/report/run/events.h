// SPDX-License-Identifier: Apache-2.0
// The events of a run folded into its story, one after the other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "db/db.h"
#include "report/run/story.h"

namespace tenon::report {

// What events tell about a task and the story does not keep.
struct TaskNotes {
  std::string start_trace, best_trace;      // JSON; empty: not told
  std::string kept;                         // "tuned" or "default", once the finals have said it
  std::set<std::string> transplanted;       // JSON of the fastest programs of other tasks
  int64_t tried = 0;                        // in rounds
  std::map<std::string, int64_t> failures;  // in rounds, by outcome
};

struct Told {
  RunStory story;
  std::map<std::string, TaskNotes> notes;  // by task key
  // One per event; nothing counts the programs that were left out.
  std::vector<Failure> wrong, undecided, refused, left_out, faults;
};

Told read_events(const std::vector<db::EventRow>& events);

}  // namespace tenon::report
