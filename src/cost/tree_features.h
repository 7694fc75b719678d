// SPDX-License-Identifier: Apache-2.0
// What TreeGRU sees of a program (Chen et al. 2018, the context-encoded form): the loops around the
// dominant statement as a tree, each with its statistics, under a root with the facts of the whole
// program. Loops beside the way to that statement are dropped, and so are loops of one iteration.
//
//   for i (4) for j (8) for k (16): C[i, j] += A[i, k] * B[k, j]
//     nodes root, i, j, k;   parents -1, 0, 1, 2;   the node of k begins with log2(17) / 8
#pragma once

#include <cstdint>

#include "cost/loop_features.h"
#include "cost/row.h"
#include "schedule/bounds.h"
#include "schedule/state.h"

namespace tenon::cost {

inline constexpr size_t kTreeLoops = 20;  // the innermost ones; the root comes on top
inline constexpr size_t kLoopStatistics = 3 + kAnnotations + 5 * kAccesses;
inline constexpr uint32_t kTreeColumns = kLoopStatistics + kTail;

// `b` is infer_bounds(s). Parents stand before their children.
Row tree_features(const schedule::State& s, const schedule::Bounds& b);

// How it is computed: what a saved model must agree on.
uint64_t tree_feature_hash();

}  // namespace tenon::cost
