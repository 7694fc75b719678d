// SPDX-License-Identifier: Apache-2.0
// The tile sizes of a sketch as holes, and whether a tile fits the vector registers. Innermost sizes are asked for first,
// those of the lanes before all: they decide what remains for the others.
#pragma once

#include "search/sketch/factors.h"
#include "search/sketch/sketch.h"
#include "space/builder.h"

namespace tenon::search {

// By Sketch::open: as numbers, and as choices for the steps.
struct Tiles {
  std::vector<Factors> factors;
  std::vector<std::vector<space::Value>> values;
};

// Of a split: the axis, and how many factors lie inside. HoleId::number / kLevels is the axis.
inline constexpr int32_t kLevels = 8;
inline space::HoleId factor_hole(schedule::StageId stage, schedule::LoopId axis, size_t inside) {
  return {space::HoleKind::kFactor, stage, axis * kLevels + static_cast<int32_t>(inside)};
}

Tiles ask_tiles(space::Builder& b, const Sketch& s, const FactorDomains& domains);

// The extent of an open split: declared, or the tile of the split it lies in.
int64_t open_extent(const Sketch& s, size_t open, const std::vector<Factors>& factors);
// Lanes of the innermost loop of the stage.
int64_t vector_factor(const Sketch& s, const TiledStage& t, const std::vector<Factors>& factors);
bool fits_registers(const Sketch& s, const TiledStage& t, const target::Cpu& target,
                    const std::vector<Factors>& factors);

}  // namespace tenon::search
