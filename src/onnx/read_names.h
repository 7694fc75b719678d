// SPDX-License-Identifier: Apache-2.0
// The names that somebody reads: inputs of nodes, and outputs of graphs, subgraphs included. Exporters name outputs of a
// Loop that nobody looks at, and how many rows these have does not matter then.
#pragma once

#include <set>
#include <string>

#include "onnx/proto.h"

namespace tenon::onnx {

// It leaves out names inside of functions.
std::set<std::string> read_names(const proto::GraphProto& g);

}  // namespace tenon::onnx
