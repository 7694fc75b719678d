// SPDX-License-Identifier: Apache-2.0
// A graph with branches and loops as pieces without any: each segment reads its own inputs and writes its own outputs, which
// are variables, and no value of one segment is seen by another. So whatever works on a graph works on all segments at once.
//
//   x -> a -> [if c: a -> y | else: a -> z] -> y or z     one graph, segments 0, 1, 2
//     =>  x0 -> a0;  a1 -> y1;  a2 -> z2                  three pieces, variables x, a, c, result
#pragma once

#include "graph/graph.h"

namespace tenon::graph {

// Memory that lives from one segment to another.
struct Variable {
  std::string name;
  ir::DType dtype;
  Shape shape;
  Data data = nullptr;              // of a constant that the flow itself reads
  int32_t input = -1, output = -1;  // of the model: the caller's memory
  int64_t elements() const;
  int64_t bytes() const { return elements() * dtype.bytes(); }
};

// Which variable an input or output of the graph in pieces is, and whose it is.
struct Port {
  int32_t variable = -1, segment = -1;
};

struct Segments {
  Flow flow;  // of variables instead of values
  std::vector<Variable> variables;
  std::vector<Port> inputs, outputs;                 // as the graph in pieces has them
  std::vector<int32_t> model_inputs, model_outputs;  // variables
  std::vector<std::string> model_output_names;
  bool empty() const { return flow.empty(); }
};

// Nothing happens to a graph without a flow. Outputs that are an input, a constant or another output are copied.
Segments cut(Graph& g);

// After rewrites: each node gets the number of its segment and those of a segment stand together, in the order of
// segments. What several segments compute of constants each computes for itself.
void separate(Graph& g, const Segments& segments);

// By value of the graph in pieces: the segment that it belongs to; -1: a constant.
std::vector<int32_t> segments_of_values(const Graph& g, const Segments& segments);

}  // namespace tenon::graph
