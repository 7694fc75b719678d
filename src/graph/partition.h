// SPDX-License-Identifier: Apache-2.0
// Cuts a graph into tasks: groups of nodes that run as one kernel. Equal groups share one task.
//
//   conv -> bias -> add(residual) -> relu      one task, anchored at the convolution
//   mean, sub, pow, mean, add, sqrt, div, mul  one task: layer norm
//   reshape                                    no task: a view of the same memory
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/classify.h"
#include "graph/graph.h"
#include "target/target.h"

namespace tenon::graph {

struct Computation {
  std::shared_ptr<const te::ComputeDag>
      dag;          // inputs x0.. and constants w0.., in order of first use
  std::string key;  // of its text: 16 hex digits
  Kind kind = Kind::kOther;
  int calls = 0;
};

struct Call {
  int32_t task = 0;
  std::vector<ValueId> inputs, outputs;  // as the dag has them
  std::vector<std::string> nodes;        // of the model
  // What it is named by where something is decided about it: its first output, or "#7" where that has no name of its own.
  // A pair has the name of its pointwise convolution, all others have the names that they have without pairs.
  std::string name = {};
  std::string joined = {};  // of a pair: the name that its depthwise convolution had
};

struct Partition {
  std::vector<Computation> tasks;
  std::vector<Call> calls;       // in an order in which they can run
  std::vector<ValueId> view_of;  // per value: whose memory it is; itself unless made by a reshape
};

struct PartitionOptions {
  bool fuse = true;  // false: a task per node, for debugging and as a reference
  // Names of calls, pointwise convolutions, that become one task with the depthwise one in front of them; "*": all that
  // can. A name of none that can is a UserError.
  std::set<std::string> pairs = {};
  target::Limits limits = {};  // of the machine that it is cut for
};

std::string key_of(const te::ComputeDag& dag);  // Computation::key

// Every graph output must be computed by a node of its own: see own_outputs.
Partition partition(const Graph& g, const PartitionOptions& options = {});

// Inserts copies where an output is an input, a constant, a view of one, or another output.
void own_outputs(Graph& g);

}  // namespace tenon::graph
