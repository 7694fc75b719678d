// SPDX-License-Identifier: Apache-2.0
// Random model graphs over the operators that passes and fusion know: convolutions with batch norms, matrix
// products, element-wise chains with residuals, moves, softmax and layer norm written out, pooling.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "support/rng.h"

namespace tenon::graph {

Graph random_graph(Rng& rng, int nodes);
std::vector<ir::Array> random_inputs(Rng& rng, const Graph& g);
ir::Array random_array(Rng& rng, ir::DType t, const Shape& shape);

// Largest difference relative to the largest expected magnitude (at least 1), and where.
struct Difference {
  double error = 0;
  std::string where;
};
Difference compare(const std::vector<ir::Array>& expected, const std::vector<ir::Array>& actual);

}  // namespace tenon::graph
