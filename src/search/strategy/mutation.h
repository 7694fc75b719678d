// SPDX-License-Identifier: Apache-2.0
// How choices are varied: one decision changed, or those of two programs joined. What comes out are wishes; the space
// takes them where they are legal, the nearest legal value where they are not, and draws what is missing.
//
//   tile 8 of C, inner tile 8   =>   tile 16, inner tile 16      sizes that were equal stay equal
#pragma once

#include "space/space.h"
#include "support/rng.h"

namespace tenon::search {

// One decision of `c` is another, or open to be drawn again.
space::Choices mutate(const space::Choices& c, Rng& rng);

// Decisions that belong together come from one parent. Nothing: the two have other algorithms or structures.
std::optional<space::Choices> cross(const space::Choices& a, const space::Choices& b, Rng& rng);

// The programs that they lead to. Refused: it does not fit, or is the parent again.
Result<space::Program> mutated(const space::Space& s, const space::Program& parent, Rng& rng);
Result<space::Program> crossed(const space::Space& s, const space::Program& a,
                               const space::Program& b, Rng& rng);

// Each takes one decision of the program, all alike: at its next smaller or larger value, or at any other legal one. The
// decisions after it follow, the nearest legal value where theirs is not. Refused: it does not fit.
Result<space::Program> neighbour(const space::Space& s, const space::Program& p, Rng& rng);
Result<space::Program> jumped(const space::Space& s, const space::Program& p, Rng& rng);

}  // namespace tenon::search
