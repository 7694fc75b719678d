// SPDX-License-Identifier: Apache-2.0
// Holes that sketches for GPUs have in common, and sizes of tiles there: what does not divide costs a
// test per element, so sizes need not divide, but mostly do.
#pragma once

#include "space/builder.h"
#include "support/function_ref.h"

namespace tenon::search {

// Divisors of `extent` and powers of two, so that `below` of them side by side begin inside of it.
//   tile_sizes(56, 4, 32)   1 2 4 7 8 14; 16 tiles of 4 would begin beyond the end
space::Domain tile_sizes(int64_t extent, int64_t below, int64_t most);
// A fifth of the draws takes sizes that do not divide.
std::vector<double> tile_weights(const space::Domain& d, int64_t extent, int64_t below);

// Those for which `fits` holds.
space::Domain only(const space::Domain& d, FunctionRef<bool(int64_t)> fits);

// Powers of two from `least` to `most`, both included if they are some.
space::Domain powers_of_two(int64_t least, int64_t most);

// How many copies the loops of the stage may have: 0, 16, 64, 512 or 1024.
void limit_copies(space::Builder& b, space::StageRef stage, int64_t rule);

// Lanes of the last loop of a stage, which the split of that loop shows: 1, or up to `most`.
space::Value ask_lanes(space::Builder& b, space::StageRef stage, int64_t most);

}  // namespace tenon::search
