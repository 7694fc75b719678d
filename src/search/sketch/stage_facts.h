// SPDX-License-Identifier: Apache-2.0
// What rules for sketches ask about a stage.
#pragma once

#include "search/sketch/sketch.h"

namespace tenon::search {

bool is_computed(const Sketch& s, schedule::StageId id);

// Elements are read by several results, and no sum of products before it decides its tiles.
bool needs_tiling(const Sketch& s, schedule::StageId id);

// The only reader, if it reads element by element and its loops are still whole; -1 otherwise.
schedule::StageId fusible_reader(const schedule::State& s, schedule::StageId id);

// The sketch with the stage before `stage` as the next one.
Next after(Sketch s, schedule::StageId stage);

}  // namespace tenon::search
