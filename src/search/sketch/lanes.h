// SPDX-License-Identifier: Apache-2.0
// Which loops of a stage are unrolled and which runs in vectors. `extents` by loop: as the program will have them.
#pragma once

#include "space/builder.h"

namespace tenon::search {

// A tile: the innermost loop in lanes, all other spatial loops unrolled where the tile is held in registers.
void mark_tile(space::Builder& b, schedule::StageId id, bool in_registers,
               const std::vector<int64_t>& extents);

// Whoever reads registers names them one by one: its loops inside `at` are unrolled, its lanes are those of the tile.
void mark_register_reader(space::Builder& b, schedule::StageId id, schedule::LoopId at,
                          int64_t lanes, const std::vector<int64_t>& extents);

// The last spatial loop that walks through neighbours, by as many lanes as its hole says.
void vectorize_innermost(space::Builder& b, schedule::StageId id,
                         const std::vector<int64_t>& extents);

}  // namespace tenon::search
