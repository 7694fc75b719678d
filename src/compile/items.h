// SPDX-License-Identifier: Apache-2.0
// Whether a model computes the items of a batch each for itself, so that a batch may be run in parts.
//
//   relu(conv(x, w))       yes: item i of every value comes from item i of x alone
//   x - mean over batch    no: an item looks at others
//   x / size of batch      no: an item is computed alike only in batches of one size
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace tenon::compile {

// `one` and `many` are the model for one item and for `items`, as imported; `has_items` says of each input whether its first
// axis counts items. True if every output has an item for each, one behind the other, and each is what `one` computes of
// that item. Shown operator by operator on their definitions; false also where that is not found.
bool items_are_apart(const graph::Graph& one, const graph::Graph& many, int64_t items,
                     const std::vector<bool>& has_items);

}  // namespace tenon::compile
