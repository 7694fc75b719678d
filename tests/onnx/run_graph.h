// SPDX-License-Identifier: Apache-2.0
// How tests of single operators compute their graphs; linked in from run_interpreted.cpp or run_compiled.cpp.
#pragma once

#include "graph/graph.h"

namespace tenon::onnx::testing {

std::vector<ir::Array> run_graph(graph::Graph g, const std::vector<ir::Array>& inputs);

}  // namespace tenon::onnx::testing
