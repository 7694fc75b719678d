// SPDX-License-Identifier: Apache-2.0
// The launches of a context as one graph of the driver. A step waits for the steps whose results it reads or whose
// memory it takes over, and for no other, so independent branches of a model are branches of the graph.
//
//   steps 0 -> 1, 0 -> 2, {1, 2} -> 3 of which 2 has two launches      =>     0 -> 1 ------> 3
//                                                                             0 -> 2a -> 2b -^
#pragma once

#include "runtime/cuda/context.h"

namespace tenon::runtime::cuda {

// Nodes and arguments as the table has them, with the context's own inputs and outputs. False with a sentence.
bool build_graph(tenon_model_ctx& ctx, char* sentence);

// Makes the graph work on these inputs and outputs; what it works on already costs nothing.
Status bind(tenon_model_ctx& ctx, const DevicePointer* inputs, const DevicePointer* outputs);

// One step without the graph, on the context's stream.
Status launch_step(const tenon_model_ctx& ctx, int32_t step, size_t first_launch);

}  // namespace tenon::runtime::cuda
