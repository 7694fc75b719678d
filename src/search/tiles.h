// SPDX-License-Identifier: Apache-2.0
// Tile sizes of whole stages: drawing them, and whether a tile fits the vector registers.
#pragma once

#include "search/factors.h"
#include "search/sketch.h"

namespace tenon::search {

// Draws the factors that are missing (empty). Half of the tiles inside a reader are drawn so that they fit the
// registers with the innermost loop in whole vectors; some sizes do not divide.
void draw_tiles(const Sketch& s, const target::Target& target, std::vector<Factors>& factors,
                Rng& rng);

// Lanes of the innermost loop of the stage.
int64_t vector_factor(const Sketch& s, const TiledStage& t, const std::vector<Factors>& factors);
bool fits_registers(const Sketch& s, const TiledStage& t, const target::Target& target,
                    const std::vector<Factors>& factors);

}  // namespace tenon::search
