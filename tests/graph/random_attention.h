// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it, with random sizes: projections in three or in one, scales before or behind the
// first product, with a mask or without, softmax as one operator or op by op.
#pragma once

#include "graph/graph.h"
#include "support/rng.h"

namespace tenon::graph {

struct AttentionForm {
  int64_t batch = 1, tokens = 8, heads = 2, depth = 4;
  bool packed = false;  // one projection, cut into three
  int scale = 0;        // 0: none, 1: of the scores, 2: of q, 3: of q and k
  bool mask = false;
  bool op_by_op = false;   // softmax
  bool transposed = true;  // heads go back behind the tokens
};
AttentionForm random_form(Rng& rng);

// Inputs x: f32[batch, tokens, heads * depth], and a mask where there is one.
Graph attention_graph(Rng& rng, const AttentionForm& form);

}  // namespace tenon::graph
