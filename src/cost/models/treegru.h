// SPDX-License-Identifier: Apache-2.0
// TreeGRU: a network over the loops of a program (tree_network.h), trained by the plug-in
// tenon-torch to rank programs of one task. Its scores need no plug-in. What this run measures is
// learned on from the weights that the history left.
#pragma once

#include <memory>

#include "cost/model.h"
#include "cost/models/tree_network.h"
#include "cost/tree_features.h"

namespace tenon::cost {

inline constexpr tenon_tree_sizes kTreeGruSizes{.columns = kTreeColumns, .hidden = 128, .slots = 4};

std::unique_ptr<CostModel> make_treegru(uint64_t seed, int threads, MakeTreeScorer make_scorer);

}  // namespace tenon::cost
