// SPDX-License-Identifier: Apache-2.0
// Blind draws of which the draft (cost/draft.h) threw out the worst before a cost model is asked.
#pragma once

#include <optional>

#include "space/space.h"
#include "support/rng.h"

namespace tenon::search {

inline constexpr int kDrafted = 4;  // draws for one that is kept
inline constexpr size_t kUnjudged =
    10;  // one in so many is kept unseen, since the draft may be wrong

// The one of a few valid samples that the draft takes for the fastest. Number i of a population: every tenth is the first
// draw, and so is one that the draft cannot judge. Nothing when draws fail too often.
std::optional<space::Program> sample_drafted(const space::Space& space, size_t i, Rng& rng);

}  // namespace tenon::search
