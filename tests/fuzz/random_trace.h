// SPDX-License-Identifier: Apache-2.0
// Random legal traces: steps of every primitive with random arguments, single ones and whole structures (tiles,
// register tiles, chains of compute_at, padded and unfolded inputs), as far as their check passes.
//
//   Drawn d = random_trace(State(dag, target), rng, {});
//   // replay(State(dag, target), d.trace) succeeds and gives d.state
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "schedule/trace.h"
#include "support/rng.h"

namespace tenon::fuzz {

struct TraceOptions {
  int max_steps = 14;
  double nonsense = 0.03;       // share of steps with arguments out of all bounds
  bool check_refusals = false;  // compare the state before and after each refused step
};

struct Drawn {
  schedule::Trace trace;
  schedule::State state;
  std::string problem;  // not empty: the last step of `trace` broke something
};

struct Count {
  int64_t proposed = 0;
  int64_t accepted = 0;
};
using Counts = std::map<std::string_view, Count>;  // by primitive

Drawn random_trace(const schedule::State& initial, Rng& rng, const TraceOptions& options,
                   Counts* counts = nullptr);

// Everything that a state holds, as text; to_string(State) is for people and leaves things out.
std::string describe(const schedule::State& s);

}  // namespace tenon::fuzz
