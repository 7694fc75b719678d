// SPDX-License-Identifier: Apache-2.0
#include "graph/define.h"
#include "onnx/run_graph.h"

namespace tenon::onnx::testing {

std::vector<ir::Array> run_graph(graph::Graph g, const std::vector<ir::Array>& inputs) {
  return graph::evaluate(g, inputs);
}

}  // namespace tenon::onnx::testing
