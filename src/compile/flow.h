// SPDX-License-Identifier: Apache-2.0
// Branches and loops of a network as instructions of its program.
#pragma once

#include <functional>

#include "artifact/program.h"
#include "compile/places.h"
#include "plan/network.h"

namespace tenon::compile {

// The tensors of a model with branches or loops.
void add_model_tensors(const graph::Segments& segments, artifact::Program& program);

// Empty if the network has no flow. `store` gives constants, which the flow itself reads, a place among the weights.
std::vector<artifact::FlowOp> make_flow(
    const plan::Network& n, const Places& places,
    const std::function<artifact::Param(const graph::Data&)>& store);

}  // namespace tenon::compile
