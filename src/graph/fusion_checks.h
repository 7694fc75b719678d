// SPDX-License-Identifier: Apache-2.0
// What fusion asks of groups of nodes and of what they compute, before it joins them.
//
//   te::ComputeDag dag = group_dag(g, nodes, outputs).dag;
//   if (!is_small(dag) || !is_affine(dag)) ..;   // they stay apart
#pragma once

#include <vector>

#include "graph/graph.h"
#include "target/target.h"
#include "te/attention.h"
#include "te/dag.h"

namespace tenon::graph {

inline constexpr size_t kMostOps = 24;  // of a group: inlined chains are written out in full

// Neither too many ops, nor a stage that becomes too large with every map in front of it written into
// it, as templates do.
bool is_small(const te::ComputeDag& dag);
// Operands of a contraction that are read through a move must stay affine, or its loops cannot be
// tiled.
bool is_affine(const te::ComputeDag& dag);
// Some operand of every product still has the columns in a dimension of their own, to be cut into
// vectors.
bool keeps_columns(const te::ComputeDag& dag);
// Larger weights are shared out by columns, and every core would need all rows. A row must stay in a
// near cache.
bool is_row_operand(const te::ComputeDag& dag, const target::Limits& limits);
// With few rows the second operands are read about once, and packing them would be the larger part.
bool attention_pays(const te::Attention& a, const target::Limits& limits);

// The only one of the nodes that is no map, if it is a convolution in two dimensions; null otherwise.
const Node* only_conv(const Graph& g, const std::vector<NodeId>& nodes);
// Of a pair: the convolution in front, and the one behind it.
bool is_depthwise(const Graph& g, const Node& conv, const target::Limits& limits);
bool is_pointwise(const Graph& g, const Node& conv, const target::Limits& limits);

}  // namespace tenon::graph
