// SPDX-License-Identifier: Apache-2.0
// Which nodes become one kernel. A group has one output (or is one node with several); a group joins its only
// reader when the result is still one kind of work.
#pragma once

#include <vector>

#include "graph/classify.h"
#include "graph/graph.h"

namespace tenon::graph {

struct Group {
  std::vector<NodeId> nodes;     // in graph order
  std::vector<ValueId> outputs;  // what the rest of the graph reads
  Kind kind = Kind::kOther;
};

// In an order in which they can run. Reshapes are left out: they are views.
std::vector<Group> fuse(const Graph& g);
std::vector<Group> one_per_node(const Graph& g);

}  // namespace tenon::graph
