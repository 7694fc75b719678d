// SPDX-License-Identifier: Apache-2.0
// A Trace is the schedule: the list of steps that turns a dag into a program. Everything else is derived from
// it by replay. Two written forms:
//
//   JSON, by ids, needs nothing else to be read:      [["split",2,0,[16],false],["vectorize",2,4]]
//   text, by names, one step a line, read along with the dag it belongs to:
//       split C j [16]
//       vectorize C j.1
//
// In text, arguments stand in the order of the primitive's fields; `#` starts a comment; `%4` is the stage or loop
// with id 4, written where a name would not be read back (it has a space in it, or two loops share it).
#pragma once

#include <string>
#include <vector>

#include "schedule/step.h"

namespace tenon::schedule {

using Trace = std::vector<Step>;

inline constexpr size_t kMaxSteps = 1000;

// The step that was refused and why.
struct Refusal {
  size_t step;
  Illegal why;
};

struct Replayed {
  State state;                     // as far as it went
  std::optional<Refusal> refusal;  // nothing: all steps applied
};
Replayed replay_steps(State initial, const Trace& trace);
// The finished state or the first refusal.
Result<State> replay(const State& initial, const Trace& trace);

uint64_t hash(const Trace& trace);

std::string to_json(const Trace& trace);
// Throws UserError: not JSON, unknown primitive, wrong arguments.
Trace trace_from_json(const std::string& json, const std::string& file = "trace");

// Names are those at the time of each step; a step that cannot be applied ends the text with its reason.
std::string to_text(const Trace& trace, const State& initial);
// Throws UserError with line and column: unknown primitive, stage or loop, wrong argument, refused step.
Trace parse_trace(const std::string& text, const State& initial, const std::string& file = "trace");

// One line of text as a step of `s`, not checked; throws UserError like parse_trace.
Step parse_step(const std::string& line, const State& s);

// "split C j [16]" for one step before it is applied to `s`.
std::string to_text(const Step& step, const State& s);

}  // namespace tenon::schedule
