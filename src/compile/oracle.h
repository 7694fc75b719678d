// SPDX-License-Identifier: Apache-2.0
// The right answers for a graph: by the interpreter, or by a compilation without any decision.
//
//   run_oracle(choose_oracle(g), g, inputs);
//   run_graph(prefix(g, 7), inputs, {});   // the outputs of the eighth node, as it is compiled
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/interp.h"

namespace tenon::compile {

// interp: the interpreter of tensor expressions, node by node: slow and obvious.
// plain:  every node compiled by its definition, without fusion, layouts or schedules.
enum class Oracle { kInterpreter, kPlain };

// The interpreter as far as it takes less than about a minute.
Oracle choose_oracle(const graph::Graph& g);
const char* to_string(Oracle oracle);

std::vector<ir::Array> run_oracle(Oracle oracle, const graph::Graph& g,
                                  const std::vector<ir::Array>& inputs);

// The graph with `outputs` alone, compiled with default schedules or those given, and run.
struct RunGraphOptions {
  bool plain = false;
  bool fuse = true;
  std::string lock;  // may be empty
  std::string target = "host";
  int threads = 0;
};
std::vector<ir::Array> run_graph(graph::Graph g, const std::vector<ir::Array>& inputs,
                                 const RunGraphOptions& options);

// The part of the graph that computes the outputs of one of its nodes.
graph::Graph prefix(const graph::Graph& g, size_t node);

}  // namespace tenon::compile
