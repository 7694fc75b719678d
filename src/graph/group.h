// SPDX-License-Identifier: Apache-2.0
// Several nodes as one dag.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tenon::graph {

struct GroupDag {
  te::ComputeDag dag;
  std::vector<ValueId> inputs;  // what each input of the dag is
};

// `nodes` in order; `outputs` are values that they compute. Constants of one element are written into the
// expressions. Names are the same for equal groups: x0, w0, and the nodes' labels.
GroupDag group_dag(const Graph& g, const std::vector<NodeId>& nodes,
                   const std::vector<ValueId>& outputs);

}  // namespace tenon::graph
