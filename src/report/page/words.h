// SPDX-License-Identifier: Apache-2.0
// Sentences that the page and the Markdown share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/run/story.h"

namespace tenon::report {

// "2.93 ms", "12.3 µs".
std::string page_time(double seconds);
// The same; what is not known is a dash.
std::string time_or_dash(Seconds s);
// "1.61×"
std::string ratio_text(double ratio);

enum class Tone : uint8_t { kFaster, kSame, kSlower, kUnknown };
struct Verdict {
  Tone tone = Tone::kUnknown;
  std::string headline;        // "1.61× faster", "default kept", "no result"
  std::string detail;          // how it is known, with the interval
  Seconds default_s, tuned_s;  // measured, or the sum of the tasks
  bool measured = false;       // of whole networks, not summed over tasks
};
Verdict verdict(const RunStory& run, const ModelStory& model);

// "finished: the budget was used up", "cut off, or still going on"
std::string ending(const RunStory& run);

struct Fact {
  std::string name, value;
};
// Machine, protocol, budget, search: what somebody needs to know to believe the numbers.
std::vector<Fact> facts(const RunStory& run);

// What the cost model knew before the run: "1,234 records of 12 tasks, trained 2026-01-02T03:04:05Z; on 3 tasks that it
// did not learn from: top-1 0.91, top-5 0.98, pairs 0.84". Then what could not be used.
std::string history_text(const events::HistoryUsed& e);

// Name in a sentence: "conv bias relu 1x64x28x28".
std::string task_name(const TaskStory& t);

// The nodes that a task computes: "layer1.0.conv1, layer1.0.relu and 14 more"; empty: not told.
std::string nodes_text(const TaskStory& t);

// What may have made times unsteady: "Measured while the machine was not quiet: load: 7.0. Times .."; empty: nothing.
std::string disturbed_text(const RunStory& run);

// Why an operator is not stored in the way that was faster by itself; empty: it is, or it was not faster.
std::string why_not_taken(const RunStory& run, const LayoutSearch& o, const LayoutTry& t);

// "1 call", "3 calls".
std::string counted(size_t n, std::string_view noun);

// What came of joining convolutions: "3 pairs of a depthwise and a pointwise convolution, each tuned as one task and as
// two; 1 faster as one. net has 2 of them."; empty: none was tried.
std::string pairs_text(const RunStory& run);

// What came of searching layouts: "5 operators, 61 layouts, each with the same number of trials for its loops; ..."
std::string layouts_text(const RunStory& run);

// "Left out, because it is no event: row 3, 17 of the run's events."; empty: all could be read.
std::string unreadable_text(const RunStory& run);

// What each kind of decision took and gained: "loops took 41 s and gained 0.82 ms."; empty: not told.
std::string kinds_text(const RunStory& run);

// What the wall time went into, in the order of the work, with the rest as "other".
std::vector<std::pair<std::string, double>> wall_time(const RunStory& run);
std::string part_meaning(const std::string& part);

}  // namespace tenon::report
