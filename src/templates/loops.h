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

// The copy of a padded image whose columns are read `stride` apart, before it is attached: those that
// are read together lie together, so that each is picked once and not for every tap. Vectors of at
// most v lanes.
//   0 1 2 3 4 5  =>  0 2 4, 1 3 5
void store_by_phases(space::Builder& b, space::StageRef copy, int64_t stride);
void copy_by_vectors(space::Builder& b, space::StageRef copy, int64_t stride, int64_t v);

// A copy of `stage` in a program of other vectors: its own, of as many lanes as float32 has.
void loop_by_vectors(space::Builder& b, space::StageRef stage);

}  // namespace tenon::templates
