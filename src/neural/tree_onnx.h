// SPDX-License-Identifier: Apache-2.0
// The network of treegru (cost/models/tree_network.h) as an ONNX model of fixed shapes: so many
// trees at a time, padded to one form, from the deepest nodes up. Weights are inside.
//
//   inputs  x0 .. x20 [batch * width, columns]     the nodes of each depth
//           children0 .. [batch, width, width]     1 where a node of the next depth is a child
//           present [batch, depths * width, 1]     1 where there is a node
//   output  score [batch]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cost/models/tree_network.h"

namespace tenon::neural {

struct TreeForm {
  int64_t batch = 64;
  int64_t depths = 21;
  int64_t width = 1;  // nodes of one depth in one tree, at most
};

std::string tree_onnx(const cost::TreeNetwork& network, const TreeForm& form);

// What the inputs are for these rows, `batch` at most, in the order above.
std::vector<std::vector<float>> tree_inputs(std::span<const cost::Row> rows, int64_t columns,
                                            const TreeForm& form);

}  // namespace tenon::neural
