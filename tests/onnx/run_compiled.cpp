// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"
#include "compile/run.h"
#include "onnx/run_graph.h"
#include "target/target.h"

namespace tenon::onnx::testing {

std::vector<ir::Array> run_graph(graph::Graph g, const std::vector<ir::Array>& inputs) {
  compile::Options options;
  options.target = target::host_target();
  options.threads = 1;
  return compile::run(compile::compile(std::move(g), "operator", options), inputs);
}

}  // namespace tenon::onnx::testing
