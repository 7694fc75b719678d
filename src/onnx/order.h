// SPDX-License-Identifier: Apache-2.0
// The order in which the nodes of a (sub)graph can run.
#pragma once

#include <vector>

#include "onnx/proto.h"

namespace tenon::onnx {

using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;

// Positions, each node after those whose outputs it or its subgraphs read; otherwise as in the file.
// UserError for nodes that depend on each other in a circle, and for a name that two nodes compute.
std::vector<int> execution_order(const Nodes& nodes);

}  // namespace tenon::onnx
