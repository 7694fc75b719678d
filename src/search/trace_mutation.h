// SPDX-License-Identifier: Apache-2.0
// Candidates known by their trace alone: those of records that no sketch explains.
#pragma once

#include "search/space.h"

namespace tenon::search {

// Replays a trace and checks that its program fits and keeps the edges of the task.
Result<Candidate> replay_candidate(const task::Task& t, schedule::Trace trace);
// The same where the state after the first `done` steps is known, and bounds are inferred at the end only: now and then
// the candidate's trace does not replay.
Result<Candidate> replay_quickly(const task::Task& t, schedule::Trace trace, schedule::State after,
                                 size_t done);

// Changes one tunable argument of one step after the first `fixed` and replays.
Result<Candidate> mutate_trace(const task::Task& t, size_t fixed, const Candidate& c, Rng& rng);

}  // namespace tenon::search
