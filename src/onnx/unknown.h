// SPDX-License-Identifier: Apache-2.0
// Sentences about values that decide about sizes and are known only when the model runs: who decides, and what to do about it.
//
//   shape of Reshape, an input             "make it a constant: --bind shape=N,N"
//   condition of Compress, of an image     "end the model before this node, with 'mask' as an output, and do .."
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace tenon::onnx {

// The inputs of the model that a value is computed from.
std::vector<graph::ValueId> inputs_behind(const graph::Graph& g, graph::ValueId v);

// "'sr', 'axes'"
std::string quoted_names(const graph::Graph& g, const std::vector<graph::ValueId>& values);

// Which inputs it makes sense to give a value when compiling: a library for one image would be of no use.
enum class Bindable {
  kSettings,  // of few numbers
  kLists,     // these, and lists: axes, sizes, paddings
};

// Proposes --bind for `inputs` if there are some and all are bindable, otherwise to end the model before the node that reads
// `read`; empty: what it reads is not known.
std::string hint_to_know(const graph::Graph& g, const std::vector<graph::ValueId>& inputs,
                         Bindable bindable, const std::vector<graph::ValueId>& read);

}  // namespace tenon::onnx
