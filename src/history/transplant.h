// SPDX-License-Identifier: Apache-2.0
// Programs of tasks that are alike, made to fit another task: their choices are followed, and a value that is not legal
// there becomes the nearest that is (Gibson and Cano, "Transfer-Tuning", 2022).
//
//   conv 56x56x64: fuse2, tile of 14 columns   ->   conv 28x28x128: fuse2, tile of 14 columns
//   conv 56x56x64: fuse2, tile of 16 columns   ->   conv 7x7x512: fuse2, tile of 7 columns
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/known_programs.h"
#include "space/space.h"

namespace tenon::history {

struct Transplant {
  space::Program program;
  std::string task, label;  // where it comes from
};

// The program that a recipe makes of the space's task. Nothing: it is refused, or it would become another structure or
// another algorithm.
std::optional<space::Program> fitted(const space::Space& space, const Recipe& recipe);

// Up to `most` programs of the space, distinct and none of its seeds: the best of the nearest, the best of the second
// nearest, the second of the nearest, and so on. Those that are refused, or that would become another structure or
// another algorithm, are passed over. The same tasks in the same order give the same programs.
std::vector<Transplant> transplants(const space::Space& space,
                                    const std::vector<KnownTask>& nearest_first, size_t most);

}  // namespace tenon::history
