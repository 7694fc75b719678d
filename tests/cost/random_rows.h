// SPDX-License-Identifier: Apache-2.0
// Random sets of rows for networks, and networks without a zero.
#pragma once

#include <vector>

#include "cost/models/attention_network.h"
#include "support/rng.h"

namespace tenon::cost {

inline Row random_set(uint32_t columns, int64_t rows, Rng& rng) {
  Row set{{}, columns, {}};
  for (int64_t i = 0; i < rows * columns; ++i) {
    set.values.push_back(static_cast<float>(2 * rng.unit() - 1));
  }
  return set;
}

// Of up to `most` rows.
inline std::vector<Row> random_sets(uint32_t columns, size_t n, int64_t most, Rng& rng) {
  std::vector<Row> out;
  while (out.size() < n) out.push_back(random_set(columns, rng.between(1, most), rng));
  return out;
}

inline AttentionNetwork random_attention_network(const tenon_attention_sizes& sizes, Rng& rng) {
  AttentionNetwork net = fresh_attention_network(sizes, rng.next());
  for (float& w : net.weights) {
    if (w == 0) w = static_cast<float>(rng.unit() - 0.5);
  }
  return net;
}

}  // namespace tenon::cost
