// SPDX-License-Identifier: Apache-2.0
// Loops over the storage of a tensor that is written element by element: vectors innermost,
// parallel outside.
#pragma once

#include <vector>

#include "space/builder.h"

namespace tenon::templates {

// Runs the fewest leading `loops` of a stage that keep all cores busy in parallel, as one loop;
// none if the work (in vectors or so) is not worth waking another core. `extents` are those of the
// loops where they are not as declared.
void deal_out(space::Builder& b, const std::vector<space::Loop>& loops, int64_t work,
              const std::vector<int64_t>& extents = {});

// Everything inlined already, no reduction: the storage loops of `stage` are joined where every
// access allows it, cut into vectors of at most `most` lanes, and dealt out.
void loop_over_storage(space::Builder& b, space::StageRef stage, int64_t most = 64);
// The lanes of its vectors where there is no such limit; 1 for none.
int64_t storage_lanes(const space::Builder& b, space::StageRef stage);

// A copy of `stage` in a program of other vectors: its own, of as many lanes as float32 has.
void loop_by_vectors(space::Builder& b, space::StageRef stage);

}  // namespace tenon::templates
