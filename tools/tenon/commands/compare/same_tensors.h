// SPDX-License-Identifier: Apache-2.0
// Results can be compared only where both sides take and give the same tensors.
#pragma once

#include <string>
#include <vector>

#include "artifact/program.h"
#include "graph/graph.h"

namespace tenon::tools {

// One of the two sides of a comparison: what it is called, and its inputs or outputs.
struct Side {
  std::string name;
  std::vector<artifact::TensorInfo> tensors;
};

Side side_of(const std::string& name, const graph::Graph& g,
             const std::vector<graph::ValueId>& values);

// Throws UserError, with the first tensor that differs in type or shape: of another model, or of other sizes. `kind` is
// "input" or "output".
void require_same_tensors(const char* kind, const Side& reference, const Side& tested);

}  // namespace tenon::tools
