// SPDX-License-Identifier: Apache-2.0
// Random trees for networks.
#pragma once

#include <algorithm>
#include <vector>

#include "cost/models/tree_network.h"
#include "support/rng.h"

namespace tenon::cost {

// Each node hangs under one of the `choices` last ones: 1 makes a chain.
inline Row random_tree(uint32_t columns, int64_t nodes, int64_t choices, Rng& rng) {
  Row tree{{}, columns, {-1}};
  for (int64_t n = 1; n < nodes; ++n) {
    tree.parent.push_back(
        static_cast<int32_t>(rng.between(std::max<int64_t>(0, n - choices), n - 1)));
  }
  for (int64_t i = 0; i < nodes * columns; ++i) {
    tree.values.push_back(static_cast<float>(4 * rng.unit() - 1));
  }
  return tree;
}

inline std::vector<Row> random_trees(uint32_t columns, size_t n, int64_t nodes, int64_t choices,
                                     Rng& rng) {
  std::vector<Row> out;
  while (out.size() < n) out.push_back(random_tree(columns, rng.between(1, nodes), choices, rng));
  return out;
}

// No weight is zero, biases included.
inline TreeNetwork random_tree_network(const tenon_tree_sizes& sizes, Rng& rng) {
  TreeNetwork net = fresh_tree_network(sizes, rng.next());
  for (float& w : net.weights) {
    if (w == 0) w = static_cast<float>(rng.unit() - 0.5);
  }
  return net;
}

}  // namespace tenon::cost
