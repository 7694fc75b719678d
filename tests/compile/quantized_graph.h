// SPDX-License-Identifier: Apache-2.0
// Random small networks in 8 bits: an image or a matrix is quantised, goes through convolutions or products in
// quantise-dequantise form with what stands around them in real networks, and comes out in 8 bits or real.
#pragma once

#include "graph/graph.h"
#include "support/rng.h"

namespace tenon::graph {

struct QuantizedDraw {
  // Scales are powers of two: all real numbers of the definition are then exact, and so is the answer.
  bool exact = true;
  int layers = 2;
};
Graph random_quantized(Rng& rng, const QuantizedDraw& draw);

}  // namespace tenon::graph
