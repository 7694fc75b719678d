// SPDX-License-Identifier: Apache-2.0
// Which nodes become one kernel. A group has one output (or is one node with several); a group joins its only
// reader when the result is still one kind of work. Pairs, a depthwise convolution and the pointwise one that reads it,
// are joined where that is asked for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/classify.h"
#include "graph/graph.h"
#include "target/target.h"

namespace tenon::graph {

struct Group {
  std::vector<NodeId> nodes;     // in graph order
  std::vector<ValueId> outputs;  // what the rest of the graph reads
  Kind kind = Kind::kOther;
  // Its first output, or "#7" where that has no name of its own: the place in the order without pairs.
  std::string name = {};
  std::string joined = {};  // of a pair: the name of the depthwise convolution that it took in
};

// In an order in which they can run. Reshapes are left out: they are views. For `pairs` and `limits` see
// PartitionOptions.
std::vector<Group> fuse(const Graph& g, const std::set<std::string>& pairs = {},
                        const target::Limits& limits = {});
std::vector<Group> one_per_node(const Graph& g);

}  // namespace tenon::graph
